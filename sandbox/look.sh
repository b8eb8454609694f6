# look.sh ROOT HOME WORKSPACE: answers how the node stands for them. Changes nothing.
layout "$1"

# plain DIR: sets state and problem of a directory that is no home.
plain() {
	state=unusable problem=
	if [ -L "$1" ]; then
		problem='it is a link'
	elif [ ! -e "$1" ]; then
		state=absent
	elif [ ! -d "$1" ]; then
		problem='it is no directory'
	elif [ "$2" = written ] && ! [ -w "$1" ]; then
		problem='it cannot be written to'
	else
		state=usable
	fi
}

# shared: the shared root, and what in it is ours.
shared() {
	plain "$root" written
	[ "$state" = usable ] || return
	for dir in "$homes" "$workspaces" "$skills" "$own" "$stage"; do
		plain "$dir" read
		[ "$state" != unusable ] || problem="$dir: $problem"
		[ "$state" != unusable ] || return
	done
	state=usable problem=
}

# nearest DIR: the nearest directory above that is there.
nearest() {
	dir=$1
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	printf %s "$dir"
}

shared
say root "$state
$problem"
there=$(nearest "$homes")
say free "$(free "$there")"
say files "$(free_files "$there")"
report home "$homes/$2"
report default "$default"
if [ -n "$3" ]; then
	plain "$workspaces/$3" read
	say workspace "$state
$problem"
fi
if [ -d "$own/sandboxes" ] && [ ! -L "$own/sandboxes" ]; then
	find "$own/sandboxes" -maxdepth 1 -type f -name '*.json' -size -33 -exec sh -c '
		for file; do
			printf "record\0%s\n" "${file##*/}"
			while IFS= read -r line || [ -n "$line" ]; do printf "%s\n" "$line"; done <"$file"
			printf "\0"
		done' sh {} + 2>/dev/null
fi
finish
