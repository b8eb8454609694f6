# Keeps the Web UI running: a crash is followed by another start, later each time. What the launcher refuses
# (exit codes 64 to 78) and an end that was asked for are left so, and told in /run/hermesbox-web-ui.end.
echo $$ >/run/hermesbox-web-ui.pid
child=
trap 'trap - TERM; [ -z "$child" ] || kill "$child" 2>/dev/null; wait; echo 143 >/run/hermesbox-web-ui.end; exit 143' TERM
delay=1
while :; do
	began=$(date +%s)
	echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) starting the Web UI"
	/usr/local/bin/hermes-studio &
	child=$!
	code=0
	wait "$child" || code=$?
	child=
	echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) the Web UI ended with exit code $code"
	if [ "$code" = 0 ] || { [ "$code" -ge 64 ] && [ "$code" -le 78 ]; }; then
		echo "$code" >/run/hermesbox-web-ui.end
		exit "$code"
	fi
	if [ $(($(date +%s) - began)) -ge 60 ]; then delay=1; fi
	sleep "$delay" &
	wait $!
	delay=$((delay * 2))
	if [ "$delay" -gt 60 ]; then delay=60; fi
done
