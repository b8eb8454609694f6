#!/bin/sh
# Makes the Go code of the two .proto files anew, with the plugins of go.mod. protoc has to be there
# (Debian: protobuf-compiler).
set -eu
cd "$(dirname "$0")"
module=$(go list -m)/scripts/standin/envd/spec
plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
go build -o "$plugins/" google.golang.org/protobuf/cmd/protoc-gen-go connectrpc.com/connect/cmd/protoc-gen-connect-go
PATH=$plugins:$PATH protoc -I . --go_out=. --go_opt=module="$module" --connect-go_out=. --connect-go_opt=module="$module" \
	process/process.proto filesystem/filesystem.proto
