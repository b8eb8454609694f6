#!/bin/bash
# Prints the path of Hermes Agent 0.19.0's source distribution; fetches it from
# the Python package index when it is not in .cache/ yet. What does not have the
# expected SHA-256 is not kept.
#
#   hermes-source.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=$root/.cache/source
file=$cache/hermes_agent-0.19.0.tar.gz
sum=ac986bede64a2785436676c0ea084ec586574f8cb00a9d047e095b435d3e21c0

right() { echo "$sum  $1" | { sha256sum -c --status 2>/dev/null || shasum -a 256 -c --status; }; }

if ! { [ -f "$file" ] && right "$file"; }; then
	echo "hermes-source.sh: fetching hermes-agent 0.19.0" >&2
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	python3 -m venv "$work/venv"
	"$work/venv/bin/pip" -q --disable-pip-version-check download --no-deps --no-binary hermes-agent -d "$work/out" hermes-agent==0.19.0 >&2
	got=$(ls "$work"/out/*.tar.gz)
	if ! right "$got"; then
		echo "hermes-source.sh: $(basename "$got") does not have SHA-256 $sum; not used" >&2
		exit 1
	fi
	mkdir -p "$cache"
	mv "$got" "$file"
fi
echo "$file"
