# origin.sh ROOT: answers with the state of the default home, what it was made from where that was noted, and its sum.
# Changes nothing.
layout "$1"
judge "$default"
say state "$state
$problem"
if [ "$state" = initialised ] && [ -f "$own/origin" ] && [ ! -L "$own/origin" ]; then
	say noted "$(head -c 4096 "$own/origin")"
	say sum "$(sum "$default")"
fi
finish
