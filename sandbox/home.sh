# What the scripts about homes share. It changes nothing by itself.
#
# An answer is a key and a value, each ended by a NUL byte; the last is "end".
# Homes were written to by sandboxes: nothing here follows a link in one, and
# nothing opens what is no file.
set -u
LC_ALL=C
export LC_ALL

say() { printf '%s\0%s\0' "$1" "$2"; }

finish() {
	say end ''
	exit 0
}

# refuse KIND DETAIL…: ends the script, subshells too where they end with || exit; what was being made goes.
making=
refuse() {
	kind=$1
	[ -z "$making" ] || rm -rf "$making"
	shift
	say refused "$kind
$*"
	say end ''
	exit 3
}

# refuse_path PATH PROBLEM
refuse_path() {
	refuse path "$1
$2"
}

# try WHAT COMMAND…: where it fails, that ends the script with what the system said.
try() {
	what=$1
	shift
	reason=$("$@" 2>&1) && return 0
	case $reason in
	*'No space left on device'* | *'Disk quota exceeded'*) refuse full ;;
	*'Read-only file system'*) refuse read-only "$what: $reason" ;;
	esac
	refuse failed "$what: $reason"
}

# write FILE TEXT: a file that only root reads.
write() { (umask 077 && printf '%s\n' "$2" >"$1"); }

# sum DIR: a number that changes with names and contents.
sum() { (cd "$1" && { find . | sort && find . -type f -exec cksum {} + | sort; } | cksum); }

# layout ROOT: where things are on this node, as sandbox/layout.go says.
layout() {
	root=$1
	homes=$root/hermes-homes
	workspaces=$root/hermes-workspaces
	skills=$root/hermes-common-skills
	own=$homes/.hermesbox
	stage=$own/stage
	default=$homes/default
}

# judge DIR: sets state and problem of a home.
judge() {
	state=unusable problem=
	if [ -L "$1" ]; then
		problem='it is a link'
	elif [ ! -e "$1" ]; then
		state=absent
	elif [ ! -d "$1" ]; then
		problem='it is no directory'
	elif [ -L "$1/config.yaml" ]; then
		problem='its config.yaml is a link'
	elif [ -f "$1/config.yaml" ]; then
		state=initialised
	elif [ -e "$1/config.yaml" ]; then
		problem='its config.yaml is no file'
	elif bare "$1"; then
		state=empty
	else
		state=uninitialised
	fi
}

# entries DIR: calls $2 with each entry, until that fails.
entries() {
	for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
		[ -L "$entry" ] || [ -e "$entry" ] || continue
		"$2" "$entry" || return
	done
}

bare() { entries "$1" false; }

# report KEY DIR: answers with the state of a home.
report() {
	key=$1
	judge "$2"
	say "$key state" "$state
$problem"
	[ "$state" != uninitialised ] || contents "$key" "$2"
	case $state in
	initialised | uninitialised | empty) say "$key modified" "$(stat -c %Y "$2" 2>/dev/null)" ;;
	esac
}

# contents KEY DIR: answers with the first names in a directory, and how many there are.
contents() {
	key=$1 count=0
	entries "$2" name
	say "$key count" "$count"
}

name() {
	count=$((count + 1))
	[ "$count" -gt 20 ] || say "$key entry" "${1##*/}"
}

# free DIR, free_files DIR: KiB and inodes, nothing where the system does not tell.
free() { df -Pk "$1" 2>/dev/null | sed -n '2s/.* \([0-9][0-9]*\)  *[0-9][0-9]*% .*/\1/p'; }
free_files() { df -Pi "$1" 2>/dev/null | sed -n '2s/.* \([0-9][0-9]*\)  *[0-9][0-9]*% .*/\1/p'; }

# directory DIR MODE: makes it where nothing is.
directory() {
	[ ! -L "$1" ] || refuse_path "$1" 'it is a link'
	[ ! -d "$1" ] || return 0
	[ ! -e "$1" ] || refuse_path "$1" 'it is no directory'
	try "making $1" mkdir -p -m "$2" "$1"
}

# begin: makes what is ours, waits for the lock, and removes what a killed run left.
begin() {
	directory "$root" 0755
	directory "$homes" 0711
	directory "$own" 0700
	directory "$stage" 0700
	lock "$own/lock" || locked "$?"
	recover
	rm -rf "$stage"/* 2>/dev/null
	# point: begun
}

# locked CODE: why lock failed. What it says on standard error is for people.
locked() {
	[ "$1" != 1 ] || refuse locked "$lock_holder"
	[ ! -L "$own/lock" ] || refuse_path "$own/lock" 'it is a link'
	try "opening $own/lock" touch "$own/lock"
	refuse failed "$lock_problem"
}

# recover: a refresh that was killed between its two renames had moved the default home aside.
recover() {
	for old in "$stage"/old-*; do
		[ -d "$old" ] && [ ! -L "$old" ] && [ ! -e "$default" ] && [ ! -L "$default" ] || continue
		try "moving the default home back" mv -T "$old" "$default"
	done
}

# room DIR: refuses where there is none for another DIR.
room() {
	need=$(du -skx "$1" 2>/dev/null | sed -n '1s/[^0-9].*//p')
	need_files=$(find "$1" -xdev 2>/dev/null | wc -l)
	left=$(free "$homes") left_files=$(free_files "$homes")
	[ "${need:-0}" -gt "${left:-$need}" ] || [ "$need_files" -gt "${left_files:-$need_files}" ] || return 0
	say need "$need"
	say free "$left"
	say need-files "$((need_files))"
	say files "$left_files"
	refuse full
}

# seed HOME RANDOM: a copy of the default home, put in place in one step.
seed() {
	judge "$default"
	case $state in
	initialised) ;;
	absent | empty) refuse no-default ;;
	*) refuse_path "$default" "${problem:-it has no config.yaml}" ;;
	esac
	room "$default"
	copy=$stage/home-$2
	making=$copy
	# point: before-copy
	try 'copying the default home' cp -a "$default" "$copy"
	settle "$copy"
	# point: copied
	place "$copy" "$1"
	# point: placed
}

# settle DIR: what is renamed into place must not be empty files after a power cut.
settle() { sync -f "$1" 2>/dev/null || sync; }

# place COPY TARGET: rename refuses a target that is neither absent nor an empty directory.
place() {
	judge "$2"
	case $state in
	absent | empty) ;;
	*) refuse taken "$2 is ${problem:-$state} now" ;;
	esac
	reason=$(mv -T "$1" "$2" 2>&1) && return 0
	case $reason in
	*'not empty'* | *'non-directory'* | *'File exists'* | *'Not a directory'*) refuse taken "$reason" ;;
	esac
	refuse failed "putting $2 in place: $reason"
}

# refuse_home DIR: of a home that can be neither kept nor seeded.
refuse_home() {
	[ "$state" = uninitialised ] || refuse_path "$1" "$problem"
	contents home "$1"
	refuse uninitialised
}

