# Prints what a command in the sandbox is given and which secrets it may come across. Each line begins with what it is of.
home=/root/.hermes
files=0

# tell WHAT FILE
tell() {
	[ -f "$2" ] && [ -r "$2" ] || return 0
	head -c 65536 "$2" | tr -d '\000' | sed "s/^/$1 /"
	echo
}

# doc FILE...
doc() {
	for file; do
		files=$((files + 1))
		[ "$files" -gt 32 ] || tell "doc$files" "$file"
	done
}

[ ! -d /workspace ] || echo "dir /workspace"
tell override "$home/.hermesbox/env"
tell env "$home/.env"
tell env "$home/.op.env"
tell token "$home/web-ui/.token"
tell token /root/.hermes-web-ui/.token
doc "$home/config.yaml" "$home/auth.json" "$home/.anthropic_oauth.json" "$home/auth/google_oauth.json" "$home/webhook_subscriptions.json" "$home"/mcp-tokens/*
exit 0
