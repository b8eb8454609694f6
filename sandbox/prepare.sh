# prepare.sh ROOT HOME RANDOM WORKSPACE NONCE-FILE NONCE: makes the directories of a sandbox and seeds its home.
# Without WORKSPACE it only seeds. Answers home: kept or seeded.
layout "$1"
home=$homes/$2
begin
judge "$home"
case $state in
initialised) did=kept ;;
absent | empty)
	seed "$home" "$3"
	did=seeded
	;;
*) refuse_home "$home" ;;
esac

# leave DIR: a nonce, by link(2), which neither overwrites nor follows; by a copy where DIR is on another file system.
leave() {
	find "$1" -maxdepth 1 -type f -name '.hermesbox-nonce-*' -mmin +60 -exec rm -f {} + 2>/dev/null
	ln -P -T "$stage/$nonce" "$1/$nonce" 2>/dev/null || try "leaving a nonce in $1" cp -n -p "$stage/$nonce" "$1/$nonce"
}

if [ -n "$4" ]; then
	workspace=$workspaces/$4 nonce=$5
	directory "$workspaces" 0711
	directory "$skills" 0755
	directory "$workspace" 0755
	# point: directories
	try 'writing a nonce' write "$stage/$nonce" "$6"
	leave "$home"
	# point: nonce
	leave "$workspace"
	rm -f "$stage/$nonce"
fi
say home "$did"
finish
