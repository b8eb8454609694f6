# check.sh MAX-AGE PROBE-DIR ROOT DIR…: tells what node.Check judges. It changes nothing but a directory of its own in
# PROBE-DIR, which it removes, with what a killed one left MAX-AGE minutes ago.
# An answer is a key and a value, each ended by a NUL byte; the last is end.
set -u

say() { printf '%s\0%s\0' "$1" "$2"; }

say time "$(date +%s)"
max=$1 place=$2 root=$3
shift 2

for tool in awk cat chmod chown cksum cmp comm cp cut date dd df du find flock grep head id ln ls mkdir mktemp mv od rm sed sha256sum \
	sort stat sync tail tar timeout tr uname wc; do
	command -v "$tool" >/dev/null 2>&1 || say missing "$tool"
done

# mode PATH: owner, group and mode, as far as there is a stat.
mode() { stat -c '%u %g %a' "$1" 2>/dev/null; }

# The directories that the root is in: who owns one can swap what is in it.
parent=${root%/*}
while [ -n "$parent" ]; do
	[ ! -e "$parent" ] || say parent "$(mode "$parent/.") $parent"
	parent=${parent%/*}
done

for dir; do
	if [ -L "$dir" ]; then
		say link "$dir"
	elif [ -d "$dir" ]; then
		say dir "$(mode "$dir") $dir"
	elif [ -e "$dir" ]; then
		say other "$dir"
	else
		say absent "$dir"
	fi
done

# plain PATH: a directory that no link leads to, as far as it and the one above go.
plain() { [ -d "$1" ] && [ ! -L "$1" ] && [ ! -L "${1%/*}" ]; }

[ -d "$root" ] && [ ! -L "$root" ] || { say end ''; exit 0; }
data=$place # homes may be a file system of their own
until [ "$data" = "$root" ] || plain "$data"; do data=${data%/*}; done
say real "$(cd -P "$data" && pwd -P)"
say free "$(df -Pk "$data" 2>/dev/null | sed -n '2s/.* \([0-9][0-9]*\)  *[0-9][0-9]*% .*/\1/p')"
say inodes "$(df -Pi "$data" 2>/dev/null | sed -n '2s/.* \([0-9][0-9]*\)  *[0-9][0-9]*% .*/\1/p')"
say mounts "$(cat /proc/self/mountinfo 2>/dev/null)"

plain "$place" || { say end ''; exit 0; }
find "$place" -maxdepth 1 -type d -name 'probe-*' -mmin "+$max" -exec rm -rf {} + 2>/dev/null
probe=$(mktemp -d "$place/probe-XXXXXX" 2>&1) || { say unwritable "$probe"; say end ''; exit 0; }
trap 'rm -rf "$probe"' EXIT

# able NAME COMMAND…: whether that works here, and what was said where not.
able() {
	name=$1
	shift
	if said=$("$@" 2>&1); then say able "$name"; else say unable "$name: $(printf %s "$said" | tail -n 1)"; fi
}

renames() { mkdir "$probe/a" "$probe/b" && mv -T "$probe/a" "$probe/b" && [ ! -e "$probe/a" ]; }
links() { : >"$probe/one" && ln "$probe/one" "$probe/two" && [ "$probe/one" -ef "$probe/two" ]; }
# The second must find it locked.
locks() { (flock -n 8 || exit 1; ! flock -n "$probe/lock" true) 8>"$probe/lock"; }
modes() { : >"$probe/mode" && chmod 0640 "$probe/mode" && [ "$(stat -c %a "$probe/mode")" = 640 ]; }
shared() {
	python3 -c 'import mmap, sys
with open(sys.argv[1], "w+b") as f:
    f.truncate(32768)
    with mmap.mmap(f.fileno(), 32768) as m:
        m[:4] = b"page"
        m.flush()
    assert f.read(4) == b"page"' "$probe/map"
}

able 'renaming over a directory' renames
able 'hard links' links
! command -v flock >/dev/null 2>&1 || able 'locking files' locks
able 'modes' modes
! command -v python3 >/dev/null 2>&1 || able 'shared memory maps' shared
say end ''
