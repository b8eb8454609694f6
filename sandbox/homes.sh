# homes.sh ROOT [HOME]: answers with every home, or with one and more about it. Changes nothing.
layout "$1"

one() {
	say id "${1##*/}"
	report home "$1"
}

# listed DIR: hidden names are ours, or nobody's.
listed() {
	case ${1##*/} in .*) return 0 ;; esac
	one "$1"
}

if [ -L "$homes" ]; then refuse_path "$homes" 'it is a link'; fi
if [ $# -eq 1 ]; then
	[ ! -d "$homes" ] || entries "$homes" listed
	finish
fi
home=$homes/$2
one "$home"
case $state in
initialised | uninitialised | empty)
	say size "$(du -skx "$home" 2>/dev/null | sed -n '1s/[^0-9].*//p')"
	;;
esac
# tar opens no link and no fifo, whatever happens to the name meanwhile.
if [ "$state" = initialised ]; then
	printf 'config\0'
	find "$home/config.yaml" -prune -type f -size -2049 -exec sh -c 'tar -cf - -C "$1" config.yaml | od -An -v -tx1' sh "$home" \; 2>/dev/null
	printf '\0'
fi
finish
