#!/bin/bash
# Runs every fuzz target of the repository in turn, each for $FUZZTIME (default 30s).
# Arguments are packages; without them all are taken.
set -euo pipefail
cd "$(dirname "$0")/.."

for pkg in $(go list "${@:-./...}"); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "== $pkg $target" >&2
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 1s "$pkg"
	done
done
