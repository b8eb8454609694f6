# node.sh look ROOT DIR finish|read, or node.sh apply ROOT DIR RUN gzip|plain: the public skills in DIR, by the ledger in
# ROOT/.hermesbox-skills.
#
# look tells what is deployed, what of it was changed on the node, and what else lies in DIR; finish has it first do what a
# killed deploy began. apply reads a tar (see pack.go) and puts what it holds in place, if the ledger is still that of RUN.
# An answer is a key and a value, each ended by a NUL byte: refused and a problem, or others; the last is end.
#
# ledger.json has a line a skill; sums has lines of the files of those skills, as listing makes them: what was changed on the
# node since does not have them. Both change only together,
# by way of journal: a directory that is there in whole or not at all. While it is there, the deploy is done to its end by
# whoever holds the lock: first what is in its list names is swapped, then sums and ledger.json move into place.
set -eu
what=$1 root=$2 dir=$3 state=$2/.hermesbox-skills
umask 022

say() { printf '%s\0%s\0' "$1" "$2"; }

refuse() {
	say refused "$1"
	say problem "$2"
	say end ''
	exit 0
}

# exists PATH: something is there, if only a link to nothing.
exists() { [ -e "$1" ] || [ -L "$1" ]; }

plain() {
	for path in "$root" "$dir" "$state"; do
		if [ -L "$path" ]; then
			refuse link "$path"
		elif [ -e "$path" ] && [ ! -d "$path" ]; then
			refuse file "$path"
		fi
	done
	[ -d "$root" ] || refuse absent "$root"
	for tool in awk cksum cmp comm cut df find mktemp mv readlink rm sed sort sync tar; do
		command -v "$tool" >/dev/null 2>&1 || refuse tool "$tool"
	done
}

locked() {
	lock "$state/lock" && return
	refuse "$([ $? = 1 ] && echo locked || echo lock)" "${lock_problem:-$lock_holder}"
}

# mount PATH: where its file system is mounted.
mount() { df -P "$1" | awk 'END { print $NF }'; }

directories() {
	# Another run may be faster.
	[ -d "$dir" ] || mkdir -m 0755 "$dir" 2>/dev/null || [ -d "$dir" ] || refuse made "$dir"
	[ -d "$state" ] || mkdir -m 0700 "$state" 2>/dev/null || [ -d "$state" ] || refuse made "$state"
	[ "$(mount "$dir")" = "$(mount "$state")" ] || refuse mount "$dir"
}

# listing PATH…: what they hold, sorted, with "? PATH" for what no deploy makes. Names that are gone are left out.
# Without parentheses, in which the find of busybox forgets -exec with +.
listing() {
	[ $# -gt 0 ] || return 0
	{
		find "$@" ! -type l ! -user "$(id -u)" -exec sh -c 'printf "? %s\n" "$@"' sh {} + -o \
			-type f -perm 0644 -exec cksum {} + -o \
			-type f -perm 0755 -exec cksum {} + -exec sh -c 'printf "x %s\n" "$@"' sh {} + -o \
			-type d -perm 0755 -o \
			-type l -exec sh -c 'for p; do printf "l %s -> %s\n" "$p" "$(readlink "$p")"; done' sh {} + -o \
			-exec sh -c 'printf "? %s\n" "$@"' sh {} + 2>/dev/null || :
	} | sort
}

# of: the names of the skills that lines of a listing are of.
of() { awk -F/ '{ n = $2; sub(/ -> .*/, "", n); if (n != "") print n }' | sort -u; }

# without NAMES LISTING: the listing less the lines of those skills.
without() {
	awk -F/ 'FILENAME == ARGV[1] { gone[$0]; next } { n = $2; sub(/ -> .*/, "", n) } !(n in gone)' "$1" "$2"
}

# ledger NAMES: the lines of skills in the ledger less those, each without its comma.
ledger() {
	[ -f "$state/ledger.json" ] || return 0
	awk -F'"' 'FILENAME == ARGV[1] { gone[$0]; next } FNR > 1 && NF == 5 && !($2 in gone) { sub(/,$/, ""); print }' \
		"$1" "$state/ledger.json"
}

# close HEADER: a ledger of a header and of lines on standard input.
close() {
	cat "$1" &&
		sort | awk 'NR > 1 { print last "," } { last = $0 } END { if (NR) print last }' &&
		echo '}}'
}

# edited NAME…: which of those skills are not as they were deployed.
edited() {
	[ $# -gt 0 ] || return 0
	sums=$state/sums
	[ -f "$sums" ] || sums=/dev/null
	{
		printf '%s\n' "$@" //
		cd "$dir"
		listing $(printf './%s\n' "$@")
	} | awk -F/ '
		function skill(line, p) { split(line, p, "/"); sub(/ -> .*/, "", p[2]); return p[2] }
		NR == FNR && !found { if ($0 == "//") found = 1; else asked[$0]; next }
		NR == FNR { there[$0]; next }
		!(skill($0) in asked) { next }
		$0 in there { delete there[$0]; next }
		{ print skill($0) }
		END { for (line in there) print skill(line) }' - "$sums" | sort -u
}

# keep NAME PATH: moves what lies at PATH to where nobody removes it.
keep() {
	mkdir -p "$state/kept"
	place=$(mktemp -d "$state/kept/$1.XXXXXX")
	mv "$2" "$place/"
}

# aside NAME: makes room for a skill; what was changed since it was looked at is kept.
aside() {
	exists "$dir/$1" && ! exists "old/$1" || return 0
	case $changed in
	*" $1 "*)
		keep "$1" "$dir/$1"
		kept="$kept$1
"
		;;
	*) mv "$dir/$1" old/ ;;
	esac
}

# commit: does what the journal says, from wherever an earlier try of it ended.
commit() {
	trap '' HUP INT TERM PIPE
	cd "$state/journal"
	rm -rf "$state/trash"
	[ -d old ] || mkdir old
	adds='' seen='' kept=''
	: >lost.new
	while read -r verb name; do
		case $verb in
		add) if [ -d "new/$name" ]; then adds="$adds new/$name"; fi ;;
		update) if [ -d "new/$name" ] && exists "$dir/$name" && ! exists "old/$name"; then seen="$seen $name"; fi ;;
		remove) if exists "$dir/$name" && ! exists "old/$name"; then seen="$seen $name"; fi ;;
		esac
	done <names
	changed=" $(edited $seen | tr '\n' ' ')"
	# mv into the directory never goes into what has the name there.
	if [ -n "$adds" ]; then mv $adds "$dir/" 2>/dev/null || :; fi
	while read -r verb name; do
		case $verb in
		update | repair)
			if [ -d "new/$name" ]; then
				aside "$name"
				mv "new/$name" "$dir/" 2>/dev/null || :
			fi
			;;
		remove | drop) aside "$name" ;;
		esac
		if exists "new/$name"; then
			exists "$dir/$name" || { echo "$dir/$name cannot be put in place" >&2; exit 1; }
			echo "$name" >>lost.new
		fi
		case $verb in
		repair | drop) if exists "old/$name"; then keep "$name" "old/$name"; fi ;;
		esac
	done <names
	if [ -s lost.new ]; then
		cat lost.new >>lost
		if [ -f sums.all ]; then
			without lost sums.all >sums.less
			mv sums.less sums.all
		fi
		if [ -f ledger.json ]; then
			awk -F'"' 'FILENAME == ARGV[1] { gone[$0]; next } FNR > 1 && NF == 5 && !($2 in gone) { sub(/,$/, ""); print }' \
				lost ledger.json | close header >ledger.less
			mv ledger.less ledger.json
		fi
	fi
	if [ -f sums.all ]; then mv sums.all "$state/sums"; fi
	if [ -f ledger.json ]; then mv ledger.json "$state/ledger.json"; fi
	{
		say lost "$(cat lost 2>/dev/null)"
		say kept "$kept"
	} 2>/dev/null || : # whoever asked may be gone
	cd /
	mv "$state/journal" "$state/trash"
	rm -rf "$state/trash" "$state/stage" || :
}

# finish: commit, in a shell of its own: where it is part of a condition, nothing in it would end it. It refuses to go on
# where that cannot be done.
finish() {
	set +e
	(
		set -e
		commit
	) 2>"$state/said"
	finished=$?
	set -e
	[ "$finished" = 0 ] || refuse stuck "$(tail -n 1 "$state/said")"
	rm -f "$state/said"
}

look() {
	plain
	if [ -d "$state" ]; then
		locked
		if [ -d "$state/journal" ] && [ "$1" = finish ]; then
			finish
		fi
		if [ -d "$state/journal" ]; then say unfinished ''; fi
	fi
	names=''
	if command -v gzip >/dev/null 2>&1; then say gzip ''; fi
	if exists "$state/ledger.json"; then
		[ -f "$state/ledger.json" ] && [ ! -L "$state/ledger.json" ] || refuse file "$state/ledger.json"
		say header "$(head -n 1 "$state/ledger.json")"
		index=$(awk '
			NR == 1 { next }
			/^"[a-z0-9][a-z0-9._-]*":"sha256:[0-9a-f]+",?$/ && !done { split($0, p, "\""); print substr(p[4], 8, 16), p[2]; next }
			/^}}$/ && !done { done = 1; next }
			{ bad = 1 }
			END { if (bad || !done) print "broken!" }' "$state/ledger.json")
		say index "$index"
		case $index in *!) say end '' && exit 0 ;; esac
		names=$(echo "$index" | cut -d' ' -f2)
	fi
	if [ ! -d "$dir" ]; then
		say end ''
		exit 0
	fi
	cd "$dir"
	if [ -n "$names" ]; then
		sums=$state/sums
		[ -f "$sums" ] || sums=/dev/null
		say changed "$(listing $(echo "$names" | sed 's|^|./|') | comm -3 - "$sums" | of)"
		say missing "$(for name in $names; do exists "$name" || echo "$name"; done)"
	fi
	say others "$({
		printf '%s\n' "$names" //
		find . ! -name . -prune ! -name '.*' ! -name '*
*' -print
	} | awk '/^\/\// { others = 1; next } !others { own[$0]; next } { sub(/^\.\//, "") } !($0 in own)')"
	say end ''
}

# told: of the lines on standard input, what says most.
told() { awk 'NR == 1 { line = $0 } /[Ss]pace|quota/ { line = $0; exit } END { print line }'; }

# extract plain|gzip: unpacks standard input.
extract() { if [ "$1" = gzip ]; then gzip -dc | tar -xf -; else tar -xf -; fi; }

apply() {
	plain
	directories
	locked
	run=''
	if [ -f "$state/ledger.json" ]; then run=$(sed -n '1s/.*"run":"\([A-Za-z0-9]*\)".*/\1/p' "$state/ledger.json"); fi
	if [ "$run" != "$1" ] || [ -e "$state/journal" ]; then refuse moved "$run"; fi
	stage=$state/stage
	rm -rf "$stage" "$state/trash"
	mkdir -m 0700 "$stage"
	chmod g-s "$stage"
	trap 'rm -rf "$stage"' EXIT
	cd "$stage"
	said=$(extract "$2" 2>&1) || refuse stage "$(echo "$said" | told)"
	[ -f whole ] || refuse cut "$(echo "$said" | told)"
	cut -d' ' -f2 names >touched
	while read -r verb name; do
		if [ "$verb" = add ] && exists "$dir/$name"; then
			echo "$name" >>lost
			rm -rf "new/$name"
		fi
	done <names
	if [ -s lost ]; then
		without lost sums >sums.less
		mv sums.less sums
		awk -F'"' 'FILENAME == ARGV[1] { gone[$0]; next } !($2 in gone)' lost lines >lines.less
		mv lines.less lines
		awk 'FILENAME == ARGV[1] { gone[$0]; next } !($2 in gone)' lost names >names.less
		mv names.less names
	fi
	cd new
	listing $(awk '$1 == "add" || $1 == "update" || $1 == "repair" { print "./" $2 }' ../names) | cmp -s - ../sums ||
		refuse stage 'what arrived is not what was sent'
	cd ..
	# Nothing of a condition ends by itself where it fails.
	{
		{ if [ -f "$state/sums" ]; then without touched "$state/sums"; fi && cat sums; } | sort >sums.all &&
			{ ledger touched && cat lines; } | close header >ledger.json &&
			{ sync -f . 2>/dev/null || sync; }
	} 2>said || refuse stage "$(told <said)"
	trap - EXIT
	mv "$stage" "$state/journal"
	finish
	say end ''
}

shift 3
$what "$@"
