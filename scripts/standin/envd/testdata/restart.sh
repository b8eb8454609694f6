#!/bin/sh
# Puts a fresh server behind a port of this machine, with the surroundings of the recording.
#
#   restart.sh PORT COMMAND [ARGUMENT...]
set -eu
port=$1
shift
pidfile=/tmp/envd-$port.pid
if [ -f "$pidfile" ]; then
	kill -KILL "$(cat "$pidfile")" 2>/dev/null || true
	while kill -0 "$(cat "$pidfile")" 2>/dev/null; do sleep 0.02; done
fi
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	setsid "$@" -isnotfc -address 127.0.0.1 -port "$port" </dev/null >>"/tmp/envd-$port.log" 2>&1 &
echo $! >"$pidfile"
