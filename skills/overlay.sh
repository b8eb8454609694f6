# Links each public skill whose name is free in the home. $1 is the home's directory of skills, $2 the shared one.
# Prints "linked NAME", "kept NAME" or "private NAME" a skill.
set -eu
mkdir -p "$1"
for skill in "$2"/*/; do
	skill=${skill%/}
	name=${skill##*/}
	[ -f "$skill/SKILL.md" ] || continue
	case $name in *[!A-Za-z0-9._-]* | .*) continue ;; esac
	if [ "$(readlink "$1/$name" 2>/dev/null)" = "$skill" ]; then
		echo "kept $name"
	elif [ -e "$1/$name" ] || [ -L "$1/$name" ]; then
		echo "private $name"
	else
		ln -s "$skill" "$1/$name"
		echo "linked $name"
	fi
done
