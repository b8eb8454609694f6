#!/bin/bash
# The demo's model endpoint: a container that answers as an OpenAI-compatible
# server does, on the address that the Engine's machine has for its containers.
# That is a private one, as a model server's on the LAN is: sandboxes reach it
# only where their template allows it.
#
#   model.sh start IMAGE   starts it with the Python of an image; prints its address
#   model.sh cut|mend      has it refuse connections, and answer again
#   model.sh key           prints the key that it wants
#   model.sh turns         prints how many questions it has answered
#   model.sh stop          removes it
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
name=${HERMESBOX_DEMO_MODEL:-hermesbox-demo-model} # tests have others
port=${HERMESBOX_DEMO_PORT:-18151}
key=key-of-the-demo-model

# gateway is what containers have for their gateway: the Engine's machine.
gateway='import socket
with open("/proc/net/route") as f:
    rows = [line.split() for line in f.readlines()[1:]]
print(next(socket.inet_ntoa(bytes.fromhex(r[2])[::-1]) for r in rows if r[1] == "00000000"))'

# asks is what a container does to reach the endpoint; it is given a while to start.
asks='import sys, time, urllib.request
for left in range(20, -1, -1):
    try:
        urllib.request.urlopen(sys.argv[1] + "/models", timeout=2)
        break
    except OSError as e:
        if not left: sys.exit(str(e))
        time.sleep(0.25)'

# python runs a script in a container that goes with it.
python() { docker run --rm --entrypoint python3 "$@"; }

# listens waits until the container has its port, or has ended for lack of it.
listens() {
	local _
	for _ in $(seq 150); do
		if docker logs "$name" 2>&1 | grep -q '^listening'; then return; fi
		if [ "$(docker inspect --format '{{.State.Running}}' "$name")" != true ]; then return 1; fi
		sleep 0.2
	done
	return 1
}

start() {
	local image=$1 address url
	docker rm --force "$name" >/dev/null 2>&1 || true
	address=$(python "$image" -c "$gateway")
	url=http://$address:$port/v1
	docker run --detach --name "$name" --network host --entrypoint python3 "$image" \
		-c "$(cat "$root/internal/inside/model.py" "$root/scripts/demo/model.py")" "$address" "$port" "$key" >/dev/null
	if ! listens; then
		docker logs "$name" 2>&1 | tail -n 1 >&2
		echo "model.sh: no model endpoint at $url: where the port is taken, name another with HERMESBOX_DEMO_PORT" >&2
		stop
		return 1
	fi
	if ! python "$image" -c "$asks" "$url"; then
		echo "model.sh: containers do not reach $url: see whether a firewall of this machine closes it" >&2
		stop
		return 1
	fi
	echo "$url"
}

cut_off() { docker kill "$name" >/dev/null; }

mend() {
	docker start "$name" >/dev/null
	docker exec "$name" python3 -c "$asks" "http://$(docker inspect --format '{{index .Args 2}}:{{index .Args 3}}' "$name")/v1"
}

# turns counts the answers with a model's word; other questions are not counted.
turns() { docker logs "$name" 2>&1 | grep -c 'POST /v1/chat/completions.* 200 ' || true; }

stop() { docker rm --force "$name" >/dev/null 2>&1 || true; }

case "${1:-}:$#" in
start:2) start "$2" ;;
cut:1) cut_off ;;
key:1) echo "$key" ;;
mend:1 | turns:1 | stop:1) "$1" ;;
*)
	echo "usage: model.sh start IMAGE | cut | mend | key | turns | stop" >&2
	exit 2
	;;
esac
