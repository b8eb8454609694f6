# Starts the Web UI under a supervisor that lives as long as the sandbox. $1 is the supervisor.
# Exit codes: 20 one runs already, 21 a token outside the home, 22 no launcher.
set -eu
home=/root/.hermes
if ! [ -x /usr/local/bin/hermes-studio ]; then exit 22; fi
if cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -qE ':2328 [0-9A-F]+:0000 0A '; then
	echo 'something listens on port 9000' >&2
	exit 20
fi
for file in /run/hermesbox-web-ui.pid /run/hermes-studio.pid; do
	pid=$(cat "$file" 2>/dev/null) || continue
	if [ -n "$pid" ] && grep -qsE 'hermesbox-web-ui|hermes-studio|hermes-web-ui' "/proc/$pid/cmdline"; then
		echo "process $pid" >&2
		exit 20
	fi
done
for dir in /root/.hermes-web-ui /home/*/.hermes-web-ui /root/.config/hermes-web-ui; do
	[ -e "$dir/.token" ] || continue
	case $(readlink -f "$dir/.token") in
	"$home"/*) ;;
	*)
		echo "$dir/.token" >&2
		exit 21
		;;
	esac
done
if tr '\0' '\n' </proc/1/environ 2>/dev/null | grep -q '^AUTH_TOKEN=.'; then
	echo 'AUTH_TOKEN in the environment of the image' >&2
	exit 21
fi
umask 077
mkdir -p "$home/web-ui/logs"
log=$home/web-ui/logs/supervisor.log
if [ -f "$log" ] && [ "$(wc -c <"$log")" -gt 1000000 ]; then mv -f "$log" "$log.1"; fi
rm -f /run/hermesbox-web-ui.end
printf '%s\n' "$1" >/run/hermesbox-web-ui.sh
setsid sh /run/hermesbox-web-ui.sh </dev/null >>"$log" 2>&1 &
