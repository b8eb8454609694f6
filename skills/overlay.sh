# overlay.sh apply|look PRIVATE PUBLIC MOUNTS CONFIG BUNDLED: links each public skill whose name is free in the home, and removes
# links of that kind whose skill is gone; look only tells. PRIVATE is the home's directory of skills, PUBLIC the shared one,
# MOUNTS the list of mounts, CONFIG Hermes's settings, BUNDLED the skills that Hermes copies into homes.
# An answer is a key and a value, each ended by a NUL byte; the last is end. No name of the home is taken for more than a
# name: what a sandbox holds is its user's.
set -u
mode=$1 private=$2 public=$3 mounts=$4 config=$5 bundled=$6

say() { printf '%s\0%s\0' "$1" "$2"; }

stop() {
	say problem "$1"
	say end ''
	exit 0
}

if [ -r "$mounts" ]; then
	mounted=''
	while read -r from at rest; do
		if [ "$at" = "$public" ]; then mounted=yes; fi
	done <"$mounts"
	[ -n "$mounted" ] || stop mount
fi
if [ -L "$private" ]; then
	stop link
elif [ ! -e "$private" ]; then
	if [ "$mode" = apply ]; then said=$(mkdir -p "$private" 2>&1) || stop "$said"; fi
elif [ ! -d "$private" ]; then
	stop file
fi
if [ -f "$config" ] && ! grep -q "^[^#]*$public" "$config"; then say unnamed ''; fi

# Links to directories of the user's own: Hermes looks into them, and so do we, but not through the whole disk.
set --
for link in "$private"/*; do
	if [ -L "$link" ] && [ -d "$link" ] && ! [ "$link" -ef "$public/${link##*/}" ]; then
		case $(readlink "$link") in "$public" | "$public"/*) ;; *) set -- "$@" "$link/." ;; esac
	fi
done

# What private skills are called, by their directory and by themselves; those in categories too. Hermes does not look into
# all directories.
called='
	FNR == 1 { dir = FILENAME; sub(/\/SKILL\.md$/, "", dir); sub(/.*\//, "", dir); print dir; sub(/^\357\273\277/, ""); front = /^---[ \t\r]*$/; next }
	front && /^---[ \t\r]*$/ { front = 0 }
	front && /^["\047]?name["\047]?[ \t]*:/ { sub(/^[^:]*:[ \t]*/, ""); gsub(/["\047\r]|[ \t]+(#.*)?$/, ""); print }'
taken=" $({
	find "$private" -name .git -prune -o -name .github -prune -o -name .hub -prune -o -name .archive -prune -o -name .venv -prune -o -name venv -prune -o \
		-name .tox -prune -o -name .nox -prune -o -name .pytest_cache -prune -o -name .mypy_cache -prune -o -name .ruff_cache -prune -o \
		-name node_modules -prune -o -name site-packages -prune -o -name __pycache__ -prune -o \
		-name SKILL.md -type f -size -2000 -exec awk "$called" {} +
	[ $# = 0 ] || find "$@" -maxdepth 4 -name SKILL.md -type f -size -2000 -exec awk "$called" {} +
} 2>/dev/null | grep '^[a-z0-9][a-z0-9._-]*$' | tr '\n' ' ') "

free='' # names have nothing in them that a shell splits or expands
for skill in "$public"/*/; do
	skill=${skill%/} name=${skill%/}
	name=${name##*/}
	[ -f "$skill/SKILL.md" ] || continue
	case $name in [!a-z0-9]* | *[!a-z0-9._-]*) continue ;; esac
	link=$private/$name
	if [ -L "$link" ] && [ "$link" -ef "$skill" ]; then
		say kept "$name"
		case $taken in *" $name "*) say twice "$name" ;; esac
	elif [ -e "$link" ] || [ -L "$link" ]; then
		say private "$name"
	elif [ -e "$bundled/$name" ]; then
		say elsewhere "$name" # Hermes writes there, at its next start
	else
		case $taken in
		*" $name "*) say elsewhere "$name" ;;
		*) free="$free $name" ;;
		esac
	fi
done

if [ "$mode" = look ]; then
	for name in $free; do say missing "$name"; done
elif [ -n "$free" ]; then
	# One ln for all. Into the directory it never goes into what has the name there.
	said=$(for name in $free; do printf '%s/%s\0' "$public" "$name"; done | xargs -0 sh -c 'ln -s "$@" "$0"' "$private/" 2>&1) || :
	for name in $free; do
		if [ -L "$private/$name" ]; then say linked "$name"; else say failed "$name"; fi
	done
	if [ -n "$said" ]; then say said "$said"; fi
fi

waited=''
for link in "$private"/* "$private"/.[!.]*; do
	[ -L "$link" ] && [ ! -e "$link" ] || continue
	case $(readlink "$link")/ in
	"$public"/../* | "$public"/*/../*) continue ;; # that may be out of it
	"$public"/*) ;;
	*) continue ;;
	esac
	if [ "$mode" = look ]; then
		say dangling "${link##*/}"
		continue
	fi
	# A deploy swaps skills: they can be away for a moment.
	if [ -z "$waited" ]; then sleep 1; fi
	waited=yes
	[ ! -e "$link" ] || continue
	if said=$(rm -f "$link" 2>&1); then say removed "${link##*/}"; else say failed "${link##*/}"; fi
done
say end ''
