# Tells how the Web UI stands: "listens", "waits", or "ended CODE" and the last lines of the supervisor's log.
if [ -e /run/hermesbox-web-ui.end ]; then
	echo "ended $(cat /run/hermesbox-web-ui.end)"
	tail -n 5 /root/.hermes/web-ui/logs/supervisor.log | grep '^hermes-studio: ' || true
elif cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -qE ':2328 [0-9A-F]+:0000 0A '; then
	echo listens
else
	echo waits
fi
