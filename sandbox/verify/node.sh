# node.sh HOME WORKSPACE FILE NONCE DEFAULT SKILLS: writes NONCE to FILE in the home and the workspace, and tells what is
# in the default home and among the public skills. An answer is a key and a value, each ended by a NUL byte; the last is
# end. Sandboxes wrote to homes: no link is followed there, and FILE is a name that nobody can guess.
set -u
say() { printf '%s\0%s\0' "$1" "$2"; }

# tidy DIR: what a verify that was killed left there a day ago and before goes
tidy() {
	find "$1/." ! -name . -prune \( -name '.hermesbox-nonce-*' -o -name '.hermesbox-probe-*' \) -type f -mtime +0 -exec rm -f {} + 2>/dev/null
}

# plant KEY DIR
plant() {
	if [ -L "$2" ] || [ ! -d "$2" ]; then
		say "$1" absent
	elif said=$( (set -C && umask 022 && printf '%s\n' "$nonce" >"$2/$file") 2>&1); then
		say "$1" planted
		tidy "$2"
	else
		say "$1" "$said"
	fi
}

# list KEY DIR
list() {
	for entry in "$2"/* "$2"/.[!.]* "$2"/..?*; do
		if [ -L "$entry" ]; then
			say "$1" "link ${entry##*/}"
		elif [ -d "$entry" ]; then
			say "$1" "dir ${entry##*/}"
		elif [ -e "$entry" ]; then
			say "$1" "file ${entry##*/}"
		fi
	done
}

# secrets DIR: files of credentials, keys and databases, by the names that seeding leaves out, and the settings
secrets() {
	find "$1" -xdev -type f -size +0 \( -iname auth.json -o -iname .env -o -iname '.env.*' ! -iname .env.example -o -iname '*.env' -o -iname .token -o -iname '*.token' \
		-o -iname '*oauth*.json' -o -iname credentials -o -iname credentials.json -o -iname .netrc -o -iname .git-credentials \
		-o -iname .npmrc -o -iname .pypirc -o -iname .pgpass -o -iname '*.pfx' -o -iname '*.jks' -o -iname '*.keystore' -o -iname '*.kdbx' -o -iname '*.ppk' \
		-o -iname '*.pem' -o -iname '*.key' -o -iname '*.p12' -o -name id_rsa -o -name id_dsa -o -name 'id_ecdsa*' ! -name '*.pub' -o -name 'id_ed25519*' ! -name '*.pub' \
		-o -iname '*.db' -o -iname '*.db-*' -o -iname '*.sqlite' -o -iname '*.sqlite-*' -o -iname '*.sqlite3' -o -iname '*.sqlite3-*' \) \
		-exec sh -c 'for file; do printf "secret\0%s\0" "$file"; done' sh {} + 2>/dev/null
	if [ -f "$1/config.yaml" ] && [ ! -L "$1/config.yaml" ]; then say config "$(head -c 1048576 "$1/config.yaml" | tr -d '\000')"; fi
}

file=$3 nonce=$4
plant home "$1"
plant workspace "$2"
list default "$5"
list skills "$6"
secrets "$5"
say end ''
