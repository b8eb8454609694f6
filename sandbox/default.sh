# default.sh ROOT RANDOM REFRESH PATIENCE TEMPLATE: makes a place for a default home, holds the lock while it is filled, and puts
# it in place when told "commit". The end of input, or PATIENCE seconds without a word, gives it up.
# Answers default: exists; else id and place, and then default: made.
layout "$1"
begin

judge "$default"
case $state in
initialised)
	if [ "$3" = no ]; then
		say default exists
		finish
	fi
	;;
absent | empty) ;;
*)
	[ "$state" = unusable ] || { contents home "$default"; refuse uninitialised; }
	refuse_path "$default" "$problem"
	;;
esac

# The id tells the seed sandboxes of this node from others', whatever it is called.
if [ ! -f "$own/id" ] || [ -L "$own/id" ]; then
	try 'writing an id' write "$stage/id" "$2"
	try 'writing an id' mv -f -T "$stage/id" "$own/id"
fi
made=$stage/default-$2
making=$made
try "making $made" mkdir -m 0700 "$made"
say id "$(cat "$own/id")"
say place "$made"
say ready ''
# point: ready

# The reader must not keep the lock where this shell is killed.
order=$(timeout "$4" head -n 1 9>&- 2>/dev/null)
if [ "$order" != commit ]; then
	rm -rf "$made"
	say default given-up
	finish
fi
# point: committing
judge "$made"
[ "$state" = initialised ] || refuse_path "$made" "${problem:-what the seed sandbox left has no config.yaml}"
odd=$(find "$made" ! -type f ! -type d ! -type l -print 2>/dev/null | head -n 1)
[ -z "$odd" ] || refuse_path "$odd" 'the seed sandbox left something that is neither file, directory nor link'
try "closing $made" chmod 0700 "$made"
settle "$made"
judge "$default"
if [ "$state" = initialised ]; then
	try 'moving the default home aside' mv -T "$default" "$stage/old-$2"
	# point: aside
fi
place "$made" "$default"
# point: placed
rm -rf "$stage/old-$2"
try 'noting what the default home is from' write "$stage/origin" "$5
$(sum "$default")"
try 'noting what the default home is from' mv -f -T "$stage/origin" "$own/origin"
say default made
finish
