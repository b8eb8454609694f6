# default_inside.sh TARGET: runs in a seed sandbox and copies the image's home to TARGET, less what belongs to one home.
# Answers left, a name that was left out, and config, the settings; else refused.
set -u
LC_ALL=C
export LC_ALL

say() { printf '%s\0%s\0' "$1" "$2"; }

refuse() {
	say refused "$1
$2"
	say end ''
	exit 3
}

home=/root/.hermes
[ -f "$home/config.yaml" ] || home=/usr/share/hermesbox/home
[ -f "$home/config.yaml" ] || refuse failed "the template's image has no Hermes home: neither /root/.hermes nor /usr/share/hermesbox/home has a config.yaml"
[ -d "$1" ] || refuse failed "$1 is not mounted"

# A copy aside first, so that nothing secret ever reaches the node.
copy=$(mktemp -d) || refuse failed 'making a directory for the copy'
trap 'rm -rf "$copy"' EXIT
said=$(cp -a "$home/." "$copy/" 2>&1) || refuse failed "copying $home: $said"
cd "$copy" || refuse failed "entering $copy"

# drop FIND-EXPRESSION…: says and removes what matches.
drop() {
	find . -mindepth 1 "$@" -prune -exec sh -c '
		for path; do printf "left\0%s\0" "${path#./}"; rm -rf -- "$path"; done' sh {} +
}

# Anywhere: credentials, databases, litter, and what is no file.
drop ! -type f ! -type d ! -type l
drop \( -iname auth.json -o -iname .env -o -iname '.env.*' ! -iname .env.example -o -iname '*.env' -o -iname .token -o -iname '*.token' \
	-o -iname '*oauth*.json' -o -iname credentials -o -iname credentials.json -o -iname .netrc -o -iname .git-credentials \
	-o -iname .npmrc -o -iname .pypirc -o -iname .pgpass -o -iname .ssh -o -iname .gnupg -o -iname .aws -o -iname .docker -o -iname .kube \
	-o -iname '.*_history' -o -iname '*.pfx' -o -iname '*.jks' -o -iname '*.keystore' -o -iname '*.kdbx' -o -iname '*.ppk' \
	-o -iname '*.pem' -o -iname '*.key' -o -iname '*.p12' -o -name id_rsa -o -name id_dsa -o -name 'id_ecdsa*' ! -name '*.pub' -o -name 'id_ed25519*' ! -name '*.pub' \
	-o -iname '*.db' -o -iname '*.db-*' -o -iname '*.sqlite' -o -iname '*.sqlite-*' -o -iname '*.sqlite3' -o -iname '*.sqlite3-*' \
	-o -name '._*' -o -name .DS_Store -o -name __MACOSX -o -name __pycache__ \)
# At the top: what Hermes and its Web UI keep of one home's life.
drop -maxdepth 1 \( -iname sessions -o -iname memories -o -iname logs -o -iname '*.log' -o -iname '*cache*' -o -iname '*.bak' -o -iname '*.tmp' \
	-o -iname '*.lock' -o -iname '*.pid' -o -iname '*.sock' -o -iname 'config.yaml.*' -o -iname 'gateway*' -o -iname 'kanban*' -o -iname state \
	-o -iname auth -o -iname mcp-tokens -o -iname pairing -o -iname platforms -o -iname profiles -o -iname webhook_subscriptions.json \
	-o -iname channel_directory.json -o -iname .update_check -o -iname .skills_prompt_snapshot.json -o -iname .tirith-install-failed \
	-o -iname .login-lock.json -o -iname web-ui -o -iname .hermes-web-ui -o -iname .hermesbox -o -iname '.hermesbox-*' -o -iname upload -o -iname uploads \
	-o -iname '*token*' -o -iname '*secret*' -o -iname '*credential*' -o -iname whatsapp -o -iname .honcho -o -iname honcho.json -o -iname mem0.json \
	-o -iname hindsight -o -iname session-exports -o -iname checkpoints -o -iname backups -o -iname pastes -o -iname chrome-debug \
	-o -iname browser_screenshots -o -iname moa-traces -o -iname spawn-trees -o -iname sandboxes -o -iname pending \
	-o -iname bin -o -iname node -o -iname hermes-agent -o -iname lazy-packages \)
drop \( -path ./skills/.hub -o -path './skills/.usage.json*' -o -path ./skills/.archive -o -path ./skills/.curator_suppressed \)

[ -f config.yaml ] && [ ! -L config.yaml ] || refuse failed "the config.yaml of the image's home is no file"
[ "$(wc -c <config.yaml)" -le 1048576 ] || refuse failed "the config.yaml of the image's home is longer than 1 MiB"
chmod 0700 .
chmod 0600 config.yaml
said=$(cp -a "$copy/." "$1/" 2>&1) || refuse failed "copying to the node: $said"
printf 'config\0'
tr -d '\000' <config.yaml
printf '\0'
say end ''
