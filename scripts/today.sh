#!/bin/bash
# Runs today's Docker Engine beside whatever Engine the machine has.
#
#   today.sh build|start|stop|status|clean
#
# dockerd, containerd and runc are built from their Go modules at the versions
# below. The Engine lives in network, mount and process namespaces of its own,
# with its own data root, socket and docker0; a veth pair with NAT is its way
# out. Ports that its containers publish are therefore not on this machine's
# loopback. Stopping ends the process namespace and with it all that ran there.
# Nothing but the Unix socket listens. Root on Linux is needed.
#
# HERMESBOX_TODAY_NAME (at most 11 letters and digits) makes it another Engine
# beside the first.
set -euo pipefail

moby=v2.0.0-beta.24
engine=29.8.0+moby-$moby # what it calls itself: a build from modules knows no release number
containerd=v2.4.2
runc=v1.5.3

name=${HERMESBOX_TODAY_NAME:-today}
root=$(cd "$(dirname "$0")/.." && pwd)
cache=$root/.cache/today
bin=$cache/bin-$moby-$containerd-$runc
data=$cache/data-$name
log=$cache/dockerd-$name.log
run=/run/hermesbox-$name
socket=$run/docker.sock
mark=hermesbox-$name # on its first process, its cgroups, its iptables rules
outer=hb${name}0
inner=hb${name}1

fail() {
	echo "today.sh: $*" >&2
	exit 1
}

# install_module builds commands of one module, packages $3…, into $GOBIN.
install_module() {
	local cgo=$1 flags=$2
	shift 2
	CGO_ENABLED=$cgo GOFLAGS= GOOS= GOARCH= go install -trimpath $flags "$@"
}

# build makes the programs, once for each set of versions.
build() {
	if [ -x "$bin/dockerd" ]; then return; fi
	mkdir -p "$cache"
	rm -rf "$bin.part"
	export GOBIN=$bin.part
	(
		cd / # outside of any module
		local m=github.com/moby/moby/v2 c=github.com/containerd/containerd/v2
		install_module 0 "-ldflags=-X=$m/dockerversion.Version=$engine" "$m/cmd/dockerd@$moby" "$m/cmd/docker-proxy@$moby"
		install_module 0 "" "$c/cmd/containerd@$containerd" "$c/cmd/containerd-shim-runc-v2@$containerd" "$c/cmd/ctr@$containerd"
		install_module 1 "-tags=seccomp" "github.com/opencontainers/runc@$runc"
	)
	mv "$bin.part" "$bin"
}

# pid prints the process id of the Engine's first process, if it lives.
pid() {
	local pid
	pid=$(cat "$run/pid" 2>/dev/null) || return 1
	grep -qzxF -- "$mark" "/proc/$pid/cmdline" 2>/dev/null || return 1
	echo "$pid"
}

answers() { curl --silent --fail --max-time 5 --unix-socket "$socket" http://engine/_ping >/dev/null 2>&1; }

# range prints the first third octet for which 10.213.N.0/24 and the next are unused here.
range() {
	local n
	for n in $(seq 64 4 248); do
		if ! ip -4 route show root "10.213.$n.0/22" | grep -q .; then
			echo "$n"
			return
		fi
	done
	fail "no free network below 10.213.0.0/16 on this machine"
}

# rule adds (-A, -I) or removes (-D) one iptables rule marked as ours.
rule() { iptables -w 10 "$@" -m comment --comment "$mark"; }

# way_out gives the namespace of process $1 a link, an address and NAT.
way_out() {
	local pid=$1 n=$2 inside="nsenter --target $1 --net"
	ip link add "$outer" type veth peer name "$inner"
	ip link set "$inner" netns "$pid"
	ip addr add "10.213.$n.1/30" dev "$outer"
	ip link set "$outer" up
	$inside ip link set lo up
	$inside ip addr add "10.213.$n.2/30" dev "$inner"
	$inside ip link set "$inner" up
	$inside ip route add default via "10.213.$n.1"
	cat /proc/sys/net/ipv4/ip_forward >"$run/ip_forward"
	echo 1 >/proc/sys/net/ipv4/ip_forward
	rule -t nat -A POSTROUTING -s "10.213.$n.0/30" ! -o "$outer" -j MASQUERADE
	rule -I FORWARD -i "$outer" -j ACCEPT
	rule -I FORWARD -o "$outer" -j ACCEPT
	echo "$n" >"$run/range"
}

# no_way_out undoes way_out, whatever part of it was done.
no_way_out() {
	local n
	if n=$(cat "$run/range" 2>/dev/null); then
		rule -t nat -D POSTROUTING -s "10.213.$n.0/30" ! -o "$outer" -j MASQUERADE 2>/dev/null || true
	fi
	rule -D FORWARD -i "$outer" -j ACCEPT 2>/dev/null || true
	rule -D FORWARD -o "$outer" -j ACCEPT 2>/dev/null || true
	ip link delete "$outer" 2>/dev/null || true
	if [ "$(cat "$run/ip_forward" 2>/dev/null)" = 0 ]; then echo 0 >/proc/sys/net/ipv4/ip_forward; fi
}

# init is the first process of the namespaces: it waits for the link, then runs
# dockerd and reaps what is left to it. ip netns would hide the cgroups instead.
init='
until ip link show '$inner' 2>/dev/null | grep -q UP; do sleep 0.1; done
dockerd "$@" &
trap "kill -TERM $!" TERM
while kill -0 $! 2>/dev/null; do wait $!; done
'

# launch starts the namespaces and dockerd in them; the link is awaited there.
launch() {
	local n=$1
	PATH=$bin:/usr/local/sbin:/usr/sbin:/sbin:$PATH setsid \
		unshare --net --mount --propagation slave --pid --fork --kill-child --mount-proc \
		sh -c "$init" "$mark" \
		--data-root "$data" --exec-root "$run/exec" --pidfile "$run/docker.pid" \
		--host "unix://$socket" --bip "10.213.$((n + 1)).1/24" \
		--default-address-pool "base=10.213.$((n + 2)).0/23,size=27" \
		--cgroup-parent "/$mark" </dev/null >"$log" 2>&1 9>&- &
	echo $! >"$run/launcher"
}

# first_process waits for the namespaces' first process and records it.
first_process() {
	local launcher child _
	launcher=$(cat "$run/launcher")
	for _ in $(seq 100); do
		if child=$(pgrep --parent "$launcher"); then
			echo "$child" >"$run/pid"
			echo "$child"
			return
		fi
		sleep 0.1
	done
	fail "the Engine's namespaces did not start: see $log"
}

# lock keeps two runs from starting or stopping at once.
lock() {
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
}

# start brings the Engine up, unless it answers.
start() {
	local n first
	lock
	if pid >/dev/null && answers; then return; fi
	build
	end
	trap end EXIT
	mkdir -p "$run" "$data"
	n=$(range)
	launch "$n"
	first=$(first_process)
	way_out "$first" "$n"
	await
	trap - EXIT
}

# await waits for the Engine's first answer.
await() {
	local _
	for _ in $(seq 300); do
		if answers; then return; fi
		pid >/dev/null || fail "the Engine ended: $(tail -n 5 "$log")"
		sleep 0.2
	done
	fail "the Engine does not answer: see $log"
}

# end stops the Engine, politely at first, and all that it ran.
end() {
	local pid _
	if pid=$(pid); then
		kill -TERM "$pid"
		for _ in $(seq 150); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL "$pid" 2>/dev/null || true
	fi
	no_way_out
	find /sys/fs/cgroup -depth -type d \( -path "*/$mark" -o -path "*/$mark/*" \) -exec rmdir {} + 2>/dev/null || true
	rm -rf "$run"
}

stop() {
	lock
	end
}

status() {
	if pid >/dev/null && answers; then
		echo "running unix://$socket"
	else
		echo "stopped"
		return 1
	fi
}

clean() {
	lock
	end
	rm -rf "$data"
}

[[ $name =~ ^[a-z0-9]{1,11}$ ]] || fail "HERMESBOX_TODAY_NAME: \"$name\" is not 1 to 11 letters and digits"
case "${1:-}" in
build | start | stop | status | clean) "$1" ;;
*) fail "usage: today.sh build|start|stop|status|clean" ;;
esac
