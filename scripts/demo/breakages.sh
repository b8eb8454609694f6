#!/bin/bash
# Breaks a sandbox of the local Cube in ways that have happened, one at a time.
# verify has to see each; then it is mended.
#
#   breakages.sh run CONFIG SANDBOX    all of them; exit code 1 where verify does not see one
#   breakages.sh mend CONFIG SANDBOX   mends what a run that was killed left broken
#
# HERMESBOX names another program than bin/hermesbox.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
hermesbox=${HERMESBOX:-$here/../../bin/hermesbox}
unseen=0

hb() { "$hermesbox" --config "$config" "$@"; }
inside() { hb sandbox exec "$sandbox" -- sh -ec "$1" >/dev/null; }

# policy replaces what the sandbox may reach besides what its template allows.
policy() {
	local id
	eval "$(hb local status --output env)"
	id=$(hb sandbox show --output json "$sandbox" | sed -n 's/^ *"id": "\(.*\)",/\1/p' | head -n 1)
	curl -fsS -X PUT -H 'Content-Type: application/json' -d "$1" "$CUBE_API_URL/sandboxes/$id/network"
}

# Each way has a command that breaks and one that mends. Mending twice, or in a new sandbox, does no harm.

break_litter() { inside 'printf "\0\5\26\7\0\2\0\0Mac OS X        \243" >/opt/hermes-agent/tools/._registry.py'; }
mend_litter() { inside 'rm -f /opt/hermes-agent/tools/._registry.py'; }

break_byte() {
	inside 'cd /opt/hermes-agent/tools; cp -p registry.py /run/
		printf " " | dd of=registry.py bs=1 seek=$(($(stat -c %s registry.py) - 1)) conv=notrunc 2>/dev/null
		touch -r /run/registry.py registry.py'
}
mend_byte() { inside 'if [ -e /run/registry.py ]; then mv /run/registry.py /opt/hermes-agent/tools/; fi'; }

# A key comes with an image. So there is one more image, with a template; verify makes a sandbox of its own from it.
break_key() {
	local made image
	made=$(docker create hermes-studio-demo)
	image=$(docker commit --change 'ENV DEMO_API_KEY=x' "$made" hermes-studio-demo:key)
	docker rm "$made" >/dev/null
	target=(--template "$(hb template create --image "$image" --name hermes-studio-demo-key 2>"$log")")
}
mend_key() {
	hb template delete --keep 0 --name hermes-studio-demo-key --yes >/dev/null 2>&1
	docker image rm hermes-studio-demo:key >/dev/null 2>&1 || true
}

break_user() { inside 'echo "export HOME=/home/user" >/etc/profile.d/demo.sh'; }
mend_user() { inside 'rm -f /etc/profile.d/demo.sh'; }

break_copy() { inside 'cd /root/.hermes/skills; rm hermes-sandbox; cp -r /opt/hermes-common-skills/hermes-sandbox .'; }
mend_copy() {
	inside 'cd /root/.hermes/skills; if [ ! -L hermes-sandbox ]; then rm -rf hermes-sandbox; fi'
	hb skills refresh "$sandbox" >/dev/null 2>&1
}

# A second gateway ends by itself where it finds the first one's lock; this one only has its name.
break_gateway() {
	inside 'mkdir -p /tmp/demo; echo "import time; time.sleep(3600)" >/tmp/demo/hermes
		HERMES_HOME=/root/.hermes setsid python3 /tmp/demo/hermes gateway run </dev/null >/dev/null 2>&1 & sleep 0.5'
}
mend_gateway() { inside 'pkill -KILL -f "demo/hermes gateway run$" || true; rm -rf /tmp/demo'; }

break_model() { "$here/model.sh" cut; }
mend_model() { "$here/model.sh" mend; }

break_policy() { policy '{"allowOut": ["0.0.0.0/0"]}'; }
mend_policy() { policy '{}'; }

# mend mends what is broken, if anything is.
mend() {
	if [ -s "$broken" ]; then
		"mend_$(cat "$broken")"
		rm -f "$broken"
	fi
}

# breakage WAY CHECKS WORDS: the words tell people what is broken; each of the checks has to fail.
breakage() {
	local way=$1 checks=$2 words=$3 said code=0 check target=("$sandbox")
	printf '\n-- %s\n' "$words"
	echo "$way" >"$broken"
	"break_$way"
	said=$(hb verify --only "$checks" "${target[@]}" 2>"$log") || code=$?
	if [ "$code" != 3 ]; then cat "$log" >&2; fi
	awk '/^fail/ { print; failed = 1; next } failed && /→/ { print } { failed = 0 }' <<<"$said"
	for check in ${checks//,/ }; do
		if ! grep -q "^fail  $check " <<<"$said"; then
			echo "breakages.sh: verify did not see it: $check does not fail (exit code $code)" >&2
			unseen=1
		fi
	done
	mend
}

run() {
	trap mend EXIT
	trap 'exit 130' INT TERM
	mend
	breakage litter litter,source,agent-import "an AppleDouble file in tools/"
	breakage byte source "one byte of tools/registry.py is another; size and time are the same"
	breakage key secrets "an image with a key in its environment"
	breakage user identity "a shell with another user's HOME"
	breakage copy overlay "a public skill's link replaced by a copy"
	breakage gateway system "a second gateway"
	breakage model egress-allowed "the model endpoint refuses connections"
	if hb local status --output json | grep -q '"egress_enforced": true'; then
		breakage policy egress-denied "the sandbox reaches more than its template's policy says"
	fi
	return "$unseen"
}

case "${1:-}:$#" in
run:3 | mend:3)
	config=$2 sandbox=$3
	broken=$(dirname "$config")/broken
	log=$(dirname "$config")/verify.log
	"$1"
	;;
*)
	echo "usage: breakages.sh run|mend CONFIG SANDBOX" >&2
	exit 2
	;;
esac
