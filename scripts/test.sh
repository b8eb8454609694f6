#!/bin/bash
# The whole check of this repository, as `make test` runs it: format, vet,
# cross-compilation, then every test with the real backends where the machine
# can have them. Arguments go to go test. What it started it ends, always.
set -euo pipefail
cd "$(dirname "$0")/.."

export CGO_ENABLED=0 # as in releases; vet, build and tests then share what they compile

step() { echo "== $*" >&2; }

# formatted fails on Go files that gofmt would change.
formatted() {
	local files
	files=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 -r gofmt -l)
	if [ -n "$files" ]; then
		printf 'gofmt would change:\n%s\n' "$files" >&2
		return 1
	fi
}

# cross compiles the program for every platform it is released for.
cross() {
	local os arch
	for os in linux darwin; do
		for arch in amd64 arm64; do
			step "build $os/$arch"
			GOOS=$os GOARCH=$arch go build -o "$out/$os-$arch" ./cmd/hermesbox
		done
	done
}

out=$(mktemp -d)
cleanup() {
	rm -rf "$out"
	scripts/test-env.sh down
}
trap cleanup EXIT
trap 'exit 130' INT TERM

step "gofmt"
formatted
step "vet"
go vet ./...
step "vet darwin"
GOOS=darwin go vet ./... # tests that no Linux compiles, too
cross
step "test environment"
env=$(scripts/test-env.sh up)
eval "$env"
step "test"
go test -count=1 -timeout 30m "$@" ./...
