#!/bin/bash
# Plants in a directory what macOS leaves behind when it writes to a volume of
# another system, or makes archives: AppleDouble files of both usual sizes with
# the true header, one of them in tools/, .DS_Store files, __MACOSX, Icon\r, and
# two look-alikes, whose names begin like AppleDouble's but whose content is not.
#
#   plant-litter.sh DIR
set -euo pipefail

cd "$1"

# apple_double FILE SIZE: magic, version, filler, two entries (Finder info, resource fork), then what fills the size.
apple_double() {
	local finder=$(($2 - 50))
	{
		printf '\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x02'
		printf '\x00\x00\x00\x09\x00\x00\x00\x32'
		printf "\\x$(printf %02x $((finder >> 24)))\\x$(printf %02x $((finder >> 16 & 255)))\\x$(printf %02x $((finder >> 8 & 255)))\\x$(printf %02x $((finder & 255)))"
		printf '\x00\x00\x00\x02'
		printf "\\x$(printf %02x $(($2 >> 24)))\\x$(printf %02x $(($2 >> 16 & 255)))\\x$(printf %02x $(($2 >> 8 & 255)))\\x$(printf %02x $(($2 & 255)))"
		printf '\x00\x00\x00\x00'
		head -c "$finder" /dev/zero | tr '\0' '\243'
	} >"$1"
}

if [ ! -d tools ]; then
	echo "plant-litter.sh: $1 has no tools/, so it is no Hermes Agent checkout" >&2
	exit 2
fi
# Only directories that are there already: an empty one is an entry of the context.
second=$(find . -mindepth 2 -maxdepth 2 -type d -not -path './.*' | sort | head -n 1)
third=$(find "$second" -mindepth 1 -maxdepth 1 -type d | sort | head -n 1)
mkdir -p __MACOSX/tools
apple_double tools/._registry.py 163
apple_double ._README.md 4096
apple_double "$second/._${second##*/}" 4096
apple_double __MACOSX/tools/._registry.py 163
for place in . "$second" "${third:-tools}"; do printf '\x00\x00\x00\x01Bud1\x00\x00\x10\x00' >"$place/.DS_Store"; done
: >"Icon"$'\r'
printf 'crc\x00\x00\x00\x00' >._SUCCESS.crc
printf 'b0VIM 9.0' >"$second/._partial.scss.swp"
