#!/bin/bash
# Makes the stand-in for the closed sandbox-code base image and loads it.
#
#   build.sh [DOCKER_HOST...]
#
# Prints the image archive's path. The archive is made without any Engine, so
# that each one it is loaded into gets the same image, and only when one of its
# inputs changed: they are hashed into the label org.hermesbox.standin.inputs.
#
# HERMESBOX_STANDIN_ENVD names a ready envd instead of building the stand-in one.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
cache=$root/.cache/standin
name=hermesbox-standin/sandbox-code:bookworm

hash_of() { sha256sum | cut -c 1-16; }

# rootfs prints the path of the Debian tree's tar, made when it is missing.
rootfs() {
	local tar
	tar=$cache/rootfs-$(cat "$here/rootfs.sh" "$here/packages.txt" | hash_of).tar
	if [ ! -f "$tar" ]; then
		rm -f "$cache"/rootfs-*.tar
		"$here/rootfs.sh" "$tar" >&2
	fi
	echo "$tar"
}

# envd prints the path of the command service's binary.
envd() {
	if [ -n "${HERMESBOX_STANDIN_ENVD:-}" ]; then
		ls "$HERMESBOX_STANDIN_ENVD" >/dev/null
		echo "$HERMESBOX_STANDIN_ENVD"
		return
	fi
	(cd "$root" && CGO_ENABLED=0 GOOS=linux go build -trimpath -buildvcs=false -o "$cache/envd" ./scripts/standin/envd)
	echo "$cache/envd"
}

# overlay writes the layer above the Debian tree: init, services, envd.
overlay() {
	local envd=$1 out=$2 tree=$work/tree
	mkdir "$tree"
	cp -r "$here/overlay/." "$tree/"
	install -D -m 0755 "$envd" "$tree/usr/bin/envd"
	find "$tree" -type d -exec chmod 0755 {} +
	find "$tree" -type f -exec chmod u=rwX,go=rX {} +
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$tree" -cf "$out" .
}

# config prints the image's configuration; its layers' digests are the arguments.
config() {
	local inputs=$1 base=$2 top=$3
	cat <<-JSON
		{
		  "architecture": "$(dpkg --print-architecture)",
		  "os": "linux",
		  "created": "2001-01-01T00:00:00Z",
		  "config": {
		    "User": "root",
		    "WorkingDir": "/",
		    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"],
		    "Entrypoint": ["/init"],
		    "ExposedPorts": {"49983/tcp": {}, "49999/tcp": {}},
		    "Labels": {
		      "org.hermesbox.standin": "sandbox-code",
		      "org.hermesbox.standin.inputs": "$inputs",
		      "org.opencontainers.image.description": "A stand-in for the sandbox-code base image, made from Debian for tests; not the real one."
		    }
		  },
		  "history": [{"created_by": "debootstrap"}, {"created_by": "stand-in services"}],
		  "rootfs": {"type": "layers", "diff_ids": ["sha256:$base", "sha256:$top"]}
		}
	JSON
}

digest() { sha256sum "$1" | cut -d ' ' -f 1; }

# archive packs the layers as the archive that docker load reads.
archive() {
	local rootfs=$1 envd=$2 inputs=$3 out=$4
	ln "$rootfs" "$work/rootfs.tar"
	overlay "$envd" "$work/services.tar"
	config "$inputs" "$(digest "$work/rootfs.tar")" "$(digest "$work/services.tar")" >"$work/config.json"
	echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$name\"],\"Layers\":[\"rootfs.tar\",\"services.tar\"]}]" >"$work/manifest.json"
	tar -C "$work" -cf "$work/archive" manifest.json config.json rootfs.tar services.tar
	rm -f "$cache"/sandbox-code-*.tar
	mv "$work/archive" "$out"
}

# load puts the archive into one Engine, unless that image is there already.
load() {
	local host=$1 inputs=$2 archive=$3 old have
	read -r old have < <(docker --host "$host" image inspect --format '{{.Id}} {{index .Config.Labels "org.hermesbox.standin.inputs"}}' "$name" 2>/dev/null) || true
	if [ "${have:-}" = "$inputs" ]; then return; fi
	docker --host "$host" load --quiet --input "$archive" >&2
	# The image that lost the name goes, unless something still uses it.
	if [ -n "${old:-}" ]; then docker --host "$host" image rm "$old" >/dev/null 2>&1 || true; fi
}

main() {
	local rootfs envd inputs out host
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	work=$(mktemp -d "$cache/work.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	rootfs=$(rootfs)
	envd=$(envd)
	inputs=$({ basename "$rootfs"; cat "$envd" "$here/build.sh"; cd "$here/overlay" && find . -type f -print -exec cat {} + | LC_ALL=C sort; } | hash_of)
	out=$cache/sandbox-code-$inputs.tar
	if [ ! -f "$out" ]; then archive "$rootfs" "$envd" "$inputs" "$out"; fi
	for host in "$@"; do load "$host" "$inputs" "$out"; done
	echo "$out"
}

main "$@"
