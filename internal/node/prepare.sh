# prepare.sh [DIR MODE]…: makes directories where nothing is, the first with its parents. What exists is not touched.
# An answer is a key and a value, each ended by a NUL byte: made or kept, or refused and a problem; the last is end.
set -u

say() { printf '%s\0%s\0' "$1" "$2"; }

refuse() {
	say refused "$1"
	say problem "$2"
	say end ''
	exit 0
}

# directory DIR MODE [-p]
directory() {
	if [ -L "$1" ]; then
		refuse "$1" 'it is a link'
	elif [ -d "$1" ]; then
		say kept "$1"
	elif [ -e "$1" ]; then
		refuse "$1" 'it is no directory'
	elif reason=$(mkdir ${3:-} -m "$2" "$1" 2>&1); then
		say made "$1"
	elif [ -d "$1" ] && [ ! -L "$1" ]; then
		say kept "$1" # another run was faster
	else
		refuse "$1" "$reason"
	fi
}

directory "$1" "$2" -p
shift 2
while [ $# -gt 0 ]; do
	directory "$1" "$2"
	shift 2
done
say end ''
