#!/bin/bash
# Builds hermesbox and measures it against its rivals. Arguments go to the program: -runs, -only, -dir, -image.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
CGO_ENABLED=0 go build -trimpath -o "$bin/hermesbox" ./cmd/hermesbox
CGO_ENABLED=0 go build -o "$bin/bench" ./bench # static: it also runs in a container that has nothing else
"$bin/bench" -hermesbox "$bin/hermesbox" "$@"
