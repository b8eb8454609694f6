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

break_token() { inside 'mkdir -p /usr/share/hermesbox/home; echo API_SERVER_KEY=x >/usr/share/hermesbox/home/.env'; }
mend_token() { inside 'rm -f /usr/share/hermesbox/home/.env'; }

break_user() { inside 'echo "export HOME=/home/user" >/etc/profile.d/demo.sh'; }
mend_user() { inside 'rm -f /etc/profile.d/demo.sh'; }

break_copy() { inside 'cd /root/.hermes/skills; rm hermes-sandbox; cp -r /opt/hermes-common-skills/hermes-sandbox .'; }
mend_copy() {
	inside 'cd /root/.hermes/skills; if [ ! -L hermes-sandbox ]; then rm -rf hermes-sandbox; fi'
	hb skills refresh "$sandbox" >/dev/null 2>&1
}

break_gateway() { inside 'HERMES_HOME=/tmp/demo setsid hermes gateway run </dev/null >/dev/null 2>&1 & sleep 3'; }
mend_gateway() { inside 'while pkill -KILL -f "hermes gateway run$"; do sleep 0.1; done; rm -rf /tmp/demo'; }

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
	local way=$1 checks=$2 words=$3 said code=0 check
	printf '\n-- %s\n' "$words"
	echo "$way" >"$broken"
	"break_$way"
	said=$(hb verify --only "$checks" "$sandbox" 2>"$log") || code=$?
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
	breakage token secrets "a key in the image"
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
