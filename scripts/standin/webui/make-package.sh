#!/bin/sh
# make-package.sh FILE: packs the stand-in web UI into the npm tarball FILE, the same bytes from the same files.
set -eu

[ $# = 1 ] || { echo "usage: make-package.sh FILE.tgz" >&2; exit 2; }
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd "$(dirname "$0")"
tar --sort=name --format=ustar --mtime=@1000000000 --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' \
    -cf - package | gzip -n -9 >"$out.tmp"
mv "$out.tmp" "$out"
