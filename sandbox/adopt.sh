# adopt.sh ROOT HOME RANDOM: a directory with entries but no config.yaml gets what it lacks of the default home.
# Answers home: kept, seeded or added.
layout "$1"
home=$homes/$2
begin

# merge FROM: the working directory gets what it lacks of FROM, config.yaml at the top apart. Names are relative to a
# directory that was entered, so that none can be swapped for a link on the way.
merge() {
	for from in "$1"/* "$1"/.[!.]* "$1"/..?*; do
		[ -L "$from" ] || [ -e "$from" ] || continue
		[ "$from" != "$default/config.yaml" ] || continue
		to=./${from##*/}
		if [ ! -L "$to" ] && [ ! -e "$to" ]; then
			add "$from" "$to" || exit
		elif [ ! -L "$to" ] && [ -d "$to" ] && [ ! -L "$from" ] && [ -d "$from" ]; then
			(enter "$to" && merge "$from") || exit
		fi
	done
}

# enter NAME: goes there, or fails where a link led elsewhere.
enter() {
	want=$(pwd -P)/${1#./}
	# point: before-enter
	cd -P "$1" 2>/dev/null && [ "$(pwd -P)" = "$want" ] || refuse taken "$want changed while it was read"
}

# add FROM TO: in one step, and only where nothing is.
add() {
	rm -rf "$copy"
	try "copying ${1##*/}" cp -a "$1" "$copy"
	if [ ! -L "$copy" ] && [ -d "$copy" ]; then
		reason=$(mv -T "$copy" "$2" 2>&1) || refuse taken "$reason"
	else
		reason=$(ln -P -T "$copy" "$2" 2>&1) || refuse taken "$reason"
	fi
	# point: added
}

adopt() {
	judge "$default"
	case $state in
	initialised) ;;
	absent | empty) refuse no-default ;;
	*) refuse_path "$default" "${problem:-it has no config.yaml}" ;;
	esac
	room "$default"
	copy=$stage/adopt-$1
	making=$copy
	cd -P "$home" 2>/dev/null && [ "$(pwd -P)" = "$(cd -P "$homes" && pwd -P)/${home##*/}" ] || refuse taken "$home changed while it was read"
	merge "$default"
	# point: before-config
	add "$default/config.yaml" ./config.yaml
	settle .
	cd /
	rm -rf "$copy"
}

judge "$home"
case $state in
initialised) did=kept ;;
absent | empty)
	seed "$home" "$3"
	did=seeded
	;;
uninitialised)
	adopt "$3"
	did=added
	;;
*) refuse_home "$home" ;;
esac
say home "$did"
finish
