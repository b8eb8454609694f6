#!/bin/bash
# Runs a buildkitd without any Engine.
#
#   buildkitd.sh build|start|stop|status|clean
#
# It is built from its Go module at the version that go.mod names, and runs with
# the machine's runc. Steps of a build use the machine's own network, so that
# registries on loopback can be reached. Nothing but the Unix socket listens.
# Root on Linux is needed.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's|^\tgithub.com/moby/buildkit \(v[^ ]*\).*|\1|p' "$root/go.mod")
cache=$root/.cache/buildkitd
bin=$cache/bin-$version
data=$cache/data
log=$cache/buildkitd.log
run=/run/hermesbox-buildkitd
socket=$run/buildkitd.sock

fail() {
	echo "buildkitd.sh: $*" >&2
	exit 1
}

# build makes the program, once for each version. Its go.mod has excludes, which go install does not take.
build() {
	local module
	if [ -x "$bin/buildkitd" ]; then return; fi
	mkdir -p "$bin"
	module=$(cd "$root" && go mod download -json "github.com/moby/buildkit@$version" | sed -n 's|^\t"Dir": "\(.*\)",$|\1|p')
	(
		cd "$module"
		CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= go build -trimpath \
			-ldflags "-X github.com/moby/buildkit/version.Version=$version" -o "$bin/buildkitd.part" ./cmd/buildkitd
	)
	mv "$bin/buildkitd.part" "$bin/buildkitd"
}

# pid prints the process id of the buildkitd of this clone, if it lives.
pid() {
	local pid
	pid=$(cat "$run/pid" 2>/dev/null) || return 1
	grep -qzxF -- "$data" "/proc/$pid/cmdline" 2>/dev/null || return 1
	echo "$pid"
}

answers() { curl --silent --max-time 5 --http2-prior-knowledge --unix-socket "$socket" --output /dev/null http://buildkitd/; }

# lock keeps two runs from starting or stopping at once.
lock() {
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
}

start() {
	local _
	lock
	if answers; then return; fi # another clone's will do
	build
	end
	mkdir -p "$run" "$data"
	PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH setsid "$bin/buildkitd" --root "$data" --addr "unix://$socket" \
		--oci-worker true --containerd-worker false --oci-worker-net host </dev/null >"$log" 2>&1 9>&- &
	echo $! >"$run/pid"
	for _ in $(seq 150); do
		if answers; then return; fi
		sleep 0.2
	done
	fail "buildkitd does not answer: $(tail -n 5 "$log")"
}

# end stops this clone's buildkitd, politely at first.
end() {
	local pid _
	if pid=$(pid); then
		kill -TERM "$pid"
		for _ in $(seq 100); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL "$pid" 2>/dev/null || true
		rm -rf "$run"
	fi
}

stop() {
	lock
	end
}

status() {
	if answers; then
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

case "${1:-}" in
build | start | stop | status | clean) "$1" ;;
*) fail "usage: buildkitd.sh build|start|stop|status|clean" ;;
esac
