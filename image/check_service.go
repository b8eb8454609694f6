package image

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
)

const (
	serviceWait = 60 * time.Second
	webUIWait   = 120 * time.Second
	pollPause   = time.Second
	launcherLog = "/tmp/hermesbox-launcher.log"
)

// inLive runs a command beside the image's own services.
func (t *trial) inLive(ctx context.Context, cmd command) (result, error) {
	if t.liveErr != nil {
		return result{}, t.liveErr
	}
	if ok, why := t.live.running(ctx); !ok {
		return result{}, fmt.Errorf("%s", why)
	}
	return t.live.exec(ctx, cmd)
}

//go:embed http_get.py
var httpGetScript string

// answer is what an HTTP request from inside the container got.
type answer struct {
	Status int    `json:"status"` // 0 where nothing answered
	Body   string `json:"body"`
	Error  string `json:"error"`
}

// get asks for a URL on the container's loopback, with the image's own Python or curl.
func (t *trial) get(ctx context.Context, url, tokenFile string) (answer, error) {
	script := `for python in ` + venvPython + ` python3; do command -v $python >/dev/null && exec $python - "$@"; done
exec curl -s -m 10 -w '\n{"status":%{http_code}}\n' -o /dev/null "$1"`
	res, err := t.inLive(ctx, command{args: []string{"/bin/sh", "-c", script, "get", url, tokenFile}, stdin: httpGetScript, limit: shortLimit})
	if err != nil {
		return answer{}, err
	}
	var got answer
	if err := json.Unmarshal([]byte(lastLine(res.stdout)), &got); err != nil {
		return answer{}, fmt.Errorf("asking %s inside the image: exit code %d: %s", url, res.code, oneLine(res.stdout+res.stderr, nil))
	}
	return got, nil
}

// poll asks until good says yes, for at most limit. The last answer is returned.
func (t *trial) poll(ctx context.Context, url string, limit time.Duration, good func(answer) bool) (last answer, err error) {
	deadline := time.Now().Add(limit)
	for {
		if last, err = t.get(ctx, url, ""); err != nil || good(last) || time.Now().After(deadline) {
			return last, err
		}
		select {
		case <-ctx.Done():
			return last, context.Cause(ctx)
		case <-time.After(pollPause):
		}
	}
}

func (t *trial) commandService(ctx context.Context) check.Result {
	const remedy = "the image must keep its base's entrypoint and services; run it with docker run to see why it does not start"
	url := fmt.Sprintf("http://127.0.0.1:%d/health", commandPort)
	got, err := t.poll(ctx, url, serviceWait, func(a answer) bool { return a.Status == 204 })
	switch {
	case err != nil:
		return failing(remedy, "%v", err)
	case got.Status != 204:
		return failing(remedy, "GET :%d/health: %s, wanted 204", commandPort, got)
	}
	return passed("GET :%d/health: 204", commandPort)
}

func (a answer) String() string {
	if a.Status == 0 {
		return a.Error
	}
	return fmt.Sprintf("%d %.120s", a.Status, strings.TrimSpace(a.Body))
}

// webUI runs the launcher and waits for the readiness that each version has.
func (t *trial) webUI(ctx context.Context) check.Result {
	const remedy = "run hermes-studio in the image and read what it prints"
	if baked := t.baked(); len(baked) > 0 {
		return failing("let nothing start the agent or the Web UI while the image is built", "the image already holds what only a first start makes: %s", listed(baked))
	}
	launch := `command -v hermes-studio >/dev/null || { echo "no hermes-studio in PATH" >&2; exit 127; }
umask 077; setsid hermes-studio </dev/null >` + launcherLog + ` 2>&1 & sleep 1; kill -0 $! 2>/dev/null || { tail -n 5 ` + launcherLog + ` >&2; exit 1; }`
	started, err := t.inLive(ctx, command{args: []string{"/bin/sh", "-c", launch}, limit: shortLimit})
	switch {
	case err != nil:
		return failing(remedy, "%v", err)
	case started.code != 0:
		return failing(remedy, "hermes-studio: exit code %d: %s", started.code, oneLine(started.stderr, nil))
	}
	got, err := t.poll(ctx, fmt.Sprintf("http://127.0.0.1:%d/health", webUIPort), webUIWait, ready)
	switch {
	case err != nil:
		return failing(remedy, "%v", err)
	case !ready(got):
		return failing(remedy, "GET :%d/health: %s", webUIPort, got)
	}
	page, err := t.get(ctx, fmt.Sprintf("http://127.0.0.1:%d/", webUIPort), "")
	if err != nil || page.Status != 200 {
		return failing(remedy, "GET :%d/: %s", webUIPort, page)
	}
	return passed("GET :%d/health: %.120s", webUIPort, got.Body)
}

// ready is readiness as measured: 0.5.16 says ok only where its gateway runs;
// 0.6 always does, and is ready with its bridge once it knows the agent's version.
func ready(a answer) bool {
	var health struct {
		Status  string `json:"status"`
		Version string `json:"version"`
		Bridge  *struct {
			Ready bool `json:"ready"`
		} `json:"agent_bridge"`
	}
	if a.Status != 200 || json.Unmarshal([]byte(a.Body), &health) != nil || health.Status != "ok" {
		return false
	}
	return health.Bridge == nil || health.Bridge.Ready && health.Version != ""
}

// baked lists tokens, keys and databases that the image holds before any start;
// every sandbox would share them.
func (t *trial) baked() []string {
	var found []string
	for _, name := range t.files.home {
		base := path.Base(name)
		if slices.Contains([]string{".token", ".env", "auth.json", "state.db", "hermes-web-ui.db", ".anthropic_oauth.json"}, base) {
			found = append(found, name)
		}
	}
	return found
}

// token wants the token made at start, in the home, for its owner alone.
func (t *trial) token(ctx context.Context) check.Result {
	const file = homeDir + "/web-ui/.token"
	const remedy = "the launcher keeps the Web UI's state in " + homeDir + "/web-ui; see docs/image.md"
	script := `stat -c '%a %u' ` + file + ` && tr -d '\n' <` + file + ` | wc -c`
	res, err := t.inLive(ctx, command{args: []string{"/bin/sh", "-c", script}, limit: shortLimit})
	if err != nil {
		return failing(remedy, "%v", err)
	}
	if res.code != 0 {
		return failing(remedy, "%s", oneLine(res.stderr, nil))
	}
	fields := strings.Fields(res.stdout)
	if len(fields) != 3 || fields[0] != "600" || fields[1] != "0" || len(fields[2]) < 2 {
		return failing(remedy, "%s: mode, owner and length are %s; wanted 600 0 64", file, strings.Join(fields, " "))
	}
	got, err := t.get(ctx, fmt.Sprintf("http://127.0.0.1:%d/api/hermes/skills", webUIPort), file)
	switch {
	case err != nil:
		return failing(remedy, "%v", err)
	case got.Status != 200:
		return failing(remedy, "GET :%d/api/hermes/skills with the token: %s", webUIPort, got)
	}
	bare, err := t.get(ctx, fmt.Sprintf("http://127.0.0.1:%d/api/hermes/skills", webUIPort), "")
	if err != nil || bare.Status != 401 {
		return failing(remedy, "GET :%d/api/hermes/skills without the token: %s, wanted 401 (%v)", webUIPort, bare, err)
	}
	return passed("%s: mode 600, %s characters; the API answers 200 with it and 401 without", file, fields[2])
}
