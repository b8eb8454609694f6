#!/bin/bash
# Builds hermesbox and measures its context commands against their rivals. Arguments go to the program: -runs, -only, -dir.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
CGO_ENABLED=0 go build -trimpath -o "$bin/hermesbox" ./cmd/hermesbox
go build -o "$bin/bench" ./bench
"$bin/bench" -hermesbox "$bin/hermesbox" "$@"
