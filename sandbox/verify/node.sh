# node.sh HOME WORKSPACE FILE NONCE DEFAULT SKILLS: writes NONCE to FILE in the home and the workspace, and tells what is
# in the default home and among the public skills. An answer is a key and a value, each ended by a NUL byte; the last is
# end. Sandboxes wrote to homes: no link is followed there, and FILE is a name that nobody can guess.
set -u
say() { printf '%s\0%s\0' "$1" "$2"; }

# tidy DIR: what a verify that was killed left there a day ago and before goes
tidy() {
	find "$1/." ! -name . -prune \( -name '.hermesbox-nonce-*' -o -name '.hermesbox-probe-*' \) -type f -mtime +0 -exec rm -f {} + 2>/dev/null
}

# plant KEY DIR
plant() {
	if [ -L "$2" ] || [ ! -d "$2" ]; then
		say "$1" absent
	elif said=$( (set -C && umask 022 && printf '%s\n' "$nonce" >"$2/$file") 2>&1); then
		say "$1" planted
		tidy "$2"
	else
		say "$1" "$said"
	fi
}

# list KEY DIR
list() {
	for entry in "$2"/* "$2"/.[!.]* "$2"/..?*; do
		if [ -L "$entry" ]; then
			say "$1" "link ${entry##*/}"
		elif [ -d "$entry" ]; then
			say "$1" "dir ${entry##*/}"
		elif [ -e "$entry" ]; then
			say "$1" "file ${entry##*/}"
		fi
	done
}

file=$3 nonce=$4
plant home "$1"
plant workspace "$2"
list default "$5"
list skills "$6"
say end ''
