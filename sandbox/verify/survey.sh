# survey.sh ROOT MARK EXCEPT…: prints a line for each thing under ROOT that must not change: the default home, the public
# skills and the homes whose ids are not among EXCEPT. The line has what tells a change: kind, mode, owner, size, and the
# times of the last change of content and of the entry, which nobody can set. Before those of a directory stands a line
# with MARK and the directory: a name can have a line end in it, but no MARK. Homes of verify's own are told with their
# time alone. No link is followed.
set -u
root=$1 mark=$2
shift 2
# survey DIR
survey() {
	[ -d "$1" ] && [ ! -L "$1" ] || return 0
	printf '%s dir %s\n' "$mark" "$1"
	find "$1" -xdev -exec stat -c '%F %a %u %g %s %Y %Z %i %n' {} + 2>/dev/null
}
for home in "$root"/hermes-homes/*; do
	id=${home##*/}
	case $id in
	verify-????????????????)
		at=$(stat -c %Y "$home" 2>/dev/null) && printf '%s left %s %s\n' "$mark" "$at" "$id"
		continue
		;;
	esac
	known=no
	for except; do
		if [ "$except" = "$id" ]; then known=yes; fi
	done
	if [ "$known" = no ]; then survey "$home"; fi
done
survey "$root/hermes-common-skills"
