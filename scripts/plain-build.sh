#!/bin/bash
# Builds the recipe of hermesbox from a tree as it lies on the disk, with plain
# tar and docker build: what hermesbox is compared with. Nothing is cleaned.
#
#   plain-build.sh DOCKER SOURCE TAG BASE [WEB_UI_PACKAGE]
set -euo pipefail

docker=$1 source=$2 tag=$3 base=$4 web_ui=${5:-}
root=$(cd "$(dirname "$0")/.." && pwd)
beside=$(mktemp -d)
trap 'rm -rf "$beside"' EXIT

mkdir "$beside/.hermesbox"
cp "$root/Dockerfile.hermes" "$beside/Dockerfile"
cp "$root"/recipe/* "$beside/.hermesbox/"
if [ -n "$web_ui" ]; then cp "$web_ui" "$beside/.hermesbox/web-ui.tgz"; fi
(cd "$source" && find . -type f -print0 | sed -z 's|^\./||' | xargs -0 sha256sum) >"$beside/.hermesbox/manifest"

options=(--build-arg "BASE=$base" --tag "$tag")
bundle=$("$root/scripts/test-env.sh" ca-bundle)
if [ -n "$bundle" ]; then options+=(--secret "id=ca-bundle,src=$bundle"); fi
tar -c -C "$source" . -C "$beside" Dockerfile .hermesbox | DOCKER_BUILDKIT=1 "$docker" build "${options[@]}" -
