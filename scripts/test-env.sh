#!/bin/bash
# Makes this machine ready for the tests that need real programs.
#
#   test-env.sh up|down|status|docker|ca-bundle
#
# up prints, as export lines for a shell, what the tests read (see
# internal/dockertest); all else goes to stderr. It installs Debian packages
# that are missing, starts Docker where none answers, starts today's Engine and
# loads the stand-in base into both, and starts a buildkitd without an Engine. down ends what up started and nothing
# else; packages stay. On anything but Debian 12 as root, up prints nothing:
# tests without their backends are then skipped. docker makes sure that an Engine
# answers and that the demo has its packages, and starts only that; ca-bundle
# prints the certificates that a build needs behind a TLS-inspecting proxy.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
state=/run/hermesbox-test-env # who started what: one line each, the clone and the thing
local_host=unix:///var/run/docker.sock

packages=(
	ca-certificates curl gcc git iproute2 iptables libc6-dev libseccomp-dev pkg-config procps python3 python3-pip python3-venv util-linux
	busybox debootstrap docker.io docker-registry fish nodejs openssh-client openssh-server rsync sudo tcsh zsh
)

say() { echo "test-env.sh: $*" >&2; }

supported() {
	[ "$(id -u)" = 0 ] && [ -r /etc/os-release ] && (
		. /etc/os-release
		[ "$ID ${VERSION_ID:-}" = "debian 12" ]
	)
}

# What the demo needs besides an Engine.
for_demo=(ca-certificates curl debootstrap python3 python3-venv)

# missing prints which packages are not installed.
missing() {
	local p
	for p in "$@"; do
		if [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" != installed ]; then echo "$p"; fi
	done
}

# install_packages adds those that are missing, without letting any of them start its services.
install_packages() {
	local want policy=/usr/sbin/policy-rc.d
	want=$(missing "$@")
	if [ -z "$want" ]; then return; fi
	say "installing" $want
	if [ ! -e "$policy" ]; then
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 0755 "$policy"
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q update >&2
	apt-get -q -y install --no-install-recommends $want >&2
}

# started records that this clone started a thing; ours asks.
started() { echo "$root $1" >>"$state"; }
ours() { grep -qxF "$root $1" "$state" 2>/dev/null; }
forget() {
	local rest
	rest=$(grep -vxF "$root $1" "$state" || true)
	if [ -n "$rest" ]; then echo "$rest" >"$state"; else rm -f "$state"; fi
}

docker_answers() { docker --host "$local_host" version >/dev/null 2>&1; }

# start_docker runs the machine's own dockerd, if no Engine answers. Networks are small and many: Docker's own choice is 15
# of them, and then the addresses that the tests' LANs have.
start_docker() {
	local _
	if docker_answers; then return; fi
	say "starting Docker"
	if [ ! -e /sys/fs/cgroup/cgroup.controllers ] && [ ! -d /sys/fs/cgroup/memory ] && command -v cgroupfs-mount >/dev/null; then
		cgroupfs-mount
	fi
	mkdir -p "$root/.cache"
	PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH setsid dockerd --host "$local_host" \
		--default-address-pool base=172.20.0.0/14,size=24 </dev/null >"$root/.cache/dockerd.log" 2>&1 &
	started "docker:$!"
	for _ in $(seq 300); do
		if docker_answers; then return; fi
		sleep 0.2
	done
	say "Docker does not answer: see $root/.cache/dockerd.log"
	return 1
}

# stop_docker ends the dockerd that start_docker ran.
stop_docker() {
	local line pid _
	for line in $(sed -n "s|^$root docker:||p" "$state" 2>/dev/null); do
		pid=$line
		if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ]; then
			kill -TERM "$pid"
			for _ in $(seq 300); do
				kill -0 "$pid" 2>/dev/null || break
				sleep 0.1
			done
		fi
		forget "docker:$pid"
	done
}

today_host() { "$here/today.sh" status | cut -d ' ' -f 2; }

start_today() {
	if "$here/today.sh" status >/dev/null; then return; fi
	say "starting today's Engine"
	started today
	"$here/today.sh" start >&2
}

start_buildkitd() {
	if "$here/buildkitd.sh" status >/dev/null; then return; fi
	say "starting buildkitd"
	started buildkitd
	"$here/buildkitd.sh" start >&2
}

# ca_bundle prints the certificate bundle of a machine that trusts more than the public authorities.
ca_bundle() {
	local bundle=/etc/ssl/certs/ca-certificates.crt
	if [ -n "${SSL_CERT_FILE:-}" ]; then
		echo "$SSL_CERT_FILE"
	elif [ -n "$(find /usr/local/share/ca-certificates -name '*.crt' 2>/dev/null)" ]; then
		echo "$bundle"
	fi
}

# environment prints what the tests read.
environment() {
	local today=$1 version bundle
	version=$(docker --host "$local_host" version --format '{{.Server.Version}}' | cut -d . -f 1,2)
	echo "export HERMESBOX_TEST_ENGINES='$version=$local_host today=$today'"
	echo "export HERMESBOX_TEST_REQUIRE='docker,docker-today,buildkit,standin-base,hermes,sshd,registry,python,node,root,disk,rsync,buildkitd'"
	echo "export HERMESBOX_TEST_BUILDKITD='$("$here/buildkitd.sh" status | cut -d ' ' -f 2)'"
	echo "export HERMESBOX_TEST_HERMES_SOURCE='$("$here/hermes-source.sh")'"
	"$here/standin/webui/make-package.sh" "$root/.cache/web-ui-standin.tgz"
	echo "export HERMESBOX_TEST_WEB_UI='$root/.cache/web-ui-standin.tgz'"
	bundle=$(ca_bundle)
	if [ -n "$bundle" ]; then echo "export HERMESBOX_TEST_CA_BUNDLE='$bundle'"; fi
}

up() {
	local today
	if ! supported; then
		say "not Debian 12 as root: tests that need Docker Engines of their own are skipped"
		return
	fi
	install_packages "${packages[@]}"
	start_docker
	start_today
	start_buildkitd
	today=$(today_host)
	"$here/standin/base/build.sh" "$local_host" "$today" >/dev/null
	environment "$today"
}

down() {
	if ours buildkitd; then
		"$here/buildkitd.sh" clean
		forget buildkitd
	fi
	if ours today; then
		"$here/today.sh" clean
		forget today
	fi
	stop_docker
}

# docker_only makes sure that an Engine answers, wherever the docker command looks for it, and
# that the demo's packages are there. Docker's own are left alone where an Engine answers.
docker_only() {
	if docker version >/dev/null 2>&1; then
		if supported; then install_packages "${for_demo[@]}"; fi
		return
	fi
	if ! supported; then
		say "no Docker Engine answers: start one, then run this again"
		return 1
	fi
	install_packages "${packages[@]}"
	start_docker
}

status() {
	if docker_answers; then echo "docker: running $local_host"; else echo "docker: stopped"; fi
	echo "today: $("$here/today.sh" status || true)"
	echo "buildkitd: $("$here/buildkitd.sh" status || true)"
	if [ -e "$state" ]; then sed 's/^/started by /' "$state"; fi
}

case "${1:-}" in
up | down | status) "$1" ;;
docker) docker_only ;;
ca-bundle) ca_bundle ;;
*)
	say "usage: test-env.sh up|down|status|docker|ca-bundle"
	exit 2
	;;
esac
