package cmd_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// canaries are secrets, one for each place that they can come from. None may
// come out of hermesbox by any way.
var canaries = map[string]string{
	"the Web UI's token":         "canary-token/0+1=ab&c",
	"an override":                `canary override "q" <1>`,
	"the home's .env":            "canary-dotenv'2%3",
	"the home's config.yaml":     "canary/config/\u00e4\U0001f600",
	"the caller's environment":   "canary=caller=4",
	"the key of CubeAPI":         "e2b_canary+5/5",
	"an address with a password": "canary-password-6",
	"a log":                      "canary-log-7",
}

// canaryCase is one command line. Add one for each command.
type canaryCase struct {
	name string
	args []string
	code int
	// config is a hermesbox.yaml, where there is to be one.
	config string
	// prepare changes the world before.
	prepare func(*world)
	// until, where it is set, is what standard output or error shows before
	// the command is interrupted.
	until string
	// reveals names the canary that the command is there to print.
	reveals string
}

func canaryCases() []canaryCase {
	inside := func(script string) []string { return []string{"sandbox", "exec", "alice", "--", "sh", "-c", script} }
	const files = "/root/.hermes/web-ui/.token /root/.hermes/.hermesbox/env /root/.hermes/.env /root/.hermes/config.yaml"
	return []canaryCase{
		{name: "environment", args: inside("env; env >&2")},
		{name: "files", args: inside("cat " + files)},
		{name: "files on stderr", args: inside("cat " + files + " >&2; exit 9"), code: 9},
		{name: "base64", args: inside("for f in " + files + "; do base64 $f; base64 -w 0 $f; for n in 1 2; do { printf %${n}s ''; cat $f; } | base64; done; done")},
		{name: "in pieces", args: inside("for f in " + files + "; do i=0; while [ $i -lt $(wc -c <$f) ]; do dd if=$f bs=1 skip=$i count=3 2>/dev/null; sleep 0.01; i=$((i+3)); done; done")},
		{name: "as a binary", args: inside(`printf '\0'; cat ` + files)},
		{name: "json", args: append([]string{"--output", "json"}, inside("cat "+files+"; cat "+files+" >&2")...)},
		{name: "json, bytes", args: append([]string{"--output", "json"}, inside(`printf '\377'; cat `+files)...)},
		{name: "encodings", args: inside("cat /root/forms")},
		{name: "address", args: inside("echo https://user:$(cat /root/password)@example.org/x")},
		{name: "caller's variable", args: []string{"sandbox", "exec", "--env", "CANARY_TOKEN", "alice", "--", "sh", "-c", `echo "$CANARY_TOKEN"; exec "$CANARY_TOKEN"`}, code: -1},
		{name: "another user", args: []string{"sandbox", "exec", "--user", "user", "alice", "--", "env"}},
		{name: "an error with an argument", args: []string{"sandbox", "exec", "--workdir", "/no/such", "alice", "--", "true"}, code: 1},
		{name: "logs", args: []string{"sandbox", "logs", "alice"}},
		{name: "logs, json", args: []string{"--output", "json", "sandbox", "logs", "alice"}},
		{name: "logs, gateway", args: []string{"-v", "sandbox", "logs", "alice", "--source", "gateway"}},
		{name: "logs, followed", args: []string{"sandbox", "logs", "alice", "-f"}, code: 130, until: "end of the log"},
		{name: "logs, Cube's", args: []string{"sandbox", "logs", "alice", "--source", "command-service"}},
		{name: "open", args: []string{"sandbox", "open", "alice"}},
		{name: "forward", args: []string{"sandbox", "forward", "alice", "--listen", "127.0.0.1:0"}, code: 130, until: "^C ends it"},
		{name: "url", args: []string{"sandbox", "url", "alice"}},
		{name: "url with token", args: []string{"sandbox", "url", "alice", "--with-token"}, reveals: "the Web UI's token"},
		{name: "ls", args: []string{"-v", "sandbox", "ls", "--output", "json"}},
		{name: "show", args: []string{"-v", "sandbox", "show", "alice"}, code: -1},
		{name: "refused with the key", args: []string{"sandbox", "ls"}, code: 4, prepare: func(w *world) { w.refusal = `{"code":401,"message":"key %s is not known"}` }},
		{name: "refused in plain", args: []string{"-v", "--output", "json", "sandbox", "exec", "alice", "--", "true"}, code: 4, prepare: func(w *world) { w.refusal = "<html>%s</html>" }},
		{name: "doctor", args: []string{"-v", "doctor"}, code: 3, config: canaryModel},
		{name: "doctor, refused", args: []string{"doctor", "--output", "json"}, code: 3, config: canaryModel, prepare: func(w *world) { w.refusal = `{"code":401,"message":"key %s is not known"}` }},
		{name: "doctor, a secret in an address", args: []string{"doctor"}, code: 2, config: canaryAddress},
		{name: "config", args: []string{"config", "show", "--output", "json"}, config: canaryConfig},
		{name: "config, text", args: []string{"-v", "config", "show"}, config: canaryConfig},
		{name: "config that is broken", args: []string{"config", "show"}, code: 2, config: canaryConfig + "nonsense: 1\n"},
		{name: "exec with a config", args: inside("true"), config: canaryConfig},
		{name: "show, json", args: []string{"sandbox", "show", "alice", "--output", "json"}, code: -1},
		{name: "templates", args: []string{"template", "ls"}},
		{name: "verify", args: []string{"-v", "verify", "alice"}, code: 3},
		{name: "verify, json", args: []string{"verify", "alice", "--output", "json"}, code: 3, config: "sandbox: {model_endpoints: [\"http://127.0.0.1:9\"]}\n"},
		{name: "verify, junit", args: []string{"verify", "alice", "--output", "junit"}, code: 3},
	}
}

// canaryConfig has a secret as a value and one in an address.
const canaryConfig = `sandbox:
  env: {MY_TOKEN: canary-log-7}
image:
  build_args: {NPM_TOKEN: canary-log-7, PIP_INDEX_URL: "https://user:canary-password-6@example.org/simple"}
`

// canaryModel names a model endpoint where nothing listens, and skills that are not there.
const canaryModel = `sandbox: {model_endpoints: ["http://127.0.0.2:9/v1"]}
skills: {source: nowhere}
`

// canaryAddress has a secret in the address of a model endpoint.
const canaryAddress = `sandbox: {model_endpoints: ["http://user:canary-password-6@127.0.0.2:9/v1"]}
`

// plantCanaries puts them where hermesbox meets them.
func plantCanaries(t *testing.T, w *world, c *dockertest.Container) {
	t.Helper()
	quoted := func(name string) string { return "'" + strings.ReplaceAll(canaries[name], "'", `'\''`) + "'" }
	inYAML, err := json.Marshal(canaries["the home's config.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	var forms strings.Builder
	for _, name := range []string{"the Web UI's token", "an override", "the home's .env", "the home's config.yaml"} {
		for _, form := range canaryForms(canaries[name]) {
			fmt.Fprintf(&forms, "begin %s end\n", form)
		}
	}
	inContainer(t, c, `mkdir -p /workspace /root/.hermes/web-ui/logs /root/.hermes/logs /root/.hermes/.hermesbox; cd /root/.hermes
printf '%s\n' `+quoted("the Web UI's token")+` >web-ui/.token
printf 'MODEL=m\nMY_SECRET=%s\n' `+quoted("an override")+` >.hermesbox/env
printf 'API_SERVER_KEY=%s\n' `+quoted("the home's .env")+` >.env
printf 'model: {api_key: %s}\n' '`+string(inYAML)+`' >config.yaml
printf '%s' '`+base64.StdEncoding.EncodeToString([]byte(forms.String()))+`' | base64 -d >/root/forms
printf %s `+quoted("an address with a password")+` >/root/password
{ cat web-ui/.token .hermesbox/env config.yaml; echo 'token: `+canaries["a log"]+`'; echo 'again `+canaries["a log"]+`'; echo 'end of the log'; } >web-ui/logs/hermes-studio.log
cp web-ui/logs/hermes-studio.log logs/gateway.log`)
	w.logs = []string{"the key is " + canaries["the Web UI's token"], "api_key=" + canaries["a log"]}
}

// canaryForms are the encodings that must not come out either.
func canaryForms(secret string) []string {
	plain, err := json.Marshal(secret)
	if err != nil {
		panic(err)
	}
	var unescaped bytes.Buffer
	enc := json.NewEncoder(&unescaped)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(secret); err != nil {
		panic(err)
	}
	inner := func(quoted []byte) string { return string(bytes.Trim(bytes.TrimSpace(quoted), `"`)) }
	ascii := strconv.QuoteToASCII(secret)
	forms := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), inner(plain), inner(unescaped.Bytes()),
		strings.ReplaceAll(inner(plain), "/", `\/`), ascii[1 : len(ascii)-1], strings.ReplaceAll(secret, "'", `'\''`),
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, enc.EncodeToString([]byte(secret)))
	}
	for before := range 3 { // what no neighbour can change
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + secret))
		forms = append(forms, coded[(before*8+5)/6:(before+len(secret))*8/6])
	}
	return forms
}

// leaks names the canaries in a text, in any form.
func leaks(text []byte) []string { return leaksOf(canaries, text) }

func leaksOf(secrets map[string]string, text []byte) []string {
	var found []string
	flat := strings.NewReplacer("\n", "", "\r", "").Replace(string(text)) // base64 wraps
	for name, secret := range secrets {
		for _, form := range canaryForms(secret) {
			if bytes.Contains(text, []byte(form)) || len(form) > 12 && strings.Contains(flat, form) {
				found = append(found, fmt.Sprintf("%s as %q", name, form))
			}
		}
	}
	return found
}

// TestCanaries runs every command of the table in a sandbox full of secrets.
func TestCanaries(t *testing.T) {
	t.Parallel()
	base, c := studio(t)
	plantCanaries(t, base, c)
	browser := withBrowser(t, browserScript)
	for _, test := range canaryCases() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, base.ports)
			w.logs = base.logs
			if test.prepare != nil {
				test.prepare(w)
			}
			cmd := w.command(t, test.args...)
			home := t.TempDir()
			if test.config != "" {
				config := filepath.Join(t.TempDir(), "hermesbox.yaml")
				if err := os.WriteFile(config, []byte(test.config), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd.Args = append([]string{cmd.Args[0], "--config", config}, test.args...)
			}
			cmd.Dir = home
			cmd.Env = append(cmd.Env,
				"HOME="+home, "XDG_STATE_HOME="+home, "TMPDIR="+home, "SEEN="+t.TempDir(), "PATH="+browser+":"+os.Getenv("PATH"),
				"CUBE_API_KEY="+canaries["the key of CubeAPI"], "CANARY_TOKEN="+canaries["the caller's environment"])
			out := &following{T: t}
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := watchCommandLines(cmd.Process.Pid)
			if test.until != "" {
				out.expect(test.until)
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait() // the code tells
			if code := cmd.ProcessState.ExitCode(); code != test.code && test.code >= 0 {
				t.Errorf("exit code %d, want %d\n%s", code, test.code, out.buf.String())
			}
			judgeLeaks(t, "output", out.buf.Bytes(), test.reveals)
			judgeLeaks(t, "command lines", lines(), "")
			judgeFiles(t, home)
		})
	}
}

func judgeLeaks(t *testing.T, where string, text []byte, reveals string) {
	t.Helper()
	revealed := reveals == ""
	for _, leak := range leaks(text) {
		if reveals != "" && strings.HasPrefix(leak, reveals) {
			revealed = true
			continue
		}
		t.Errorf("%s: %s\n%q", where, leak, text)
	}
	if !revealed {
		t.Errorf("%s does not show %s: %q", where, reveals, text)
	}
}

// judgeFiles looks into everything that the command wrote.
func judgeFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		judgeLeaks(t, path, data, "")
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// watchCommandLines collects the command lines of a process and of what it
// starts, until the returned function is called.
func watchCommandLines(pid int) (stop func() []byte) {
	done, ended := make(chan struct{}), make(chan []byte)
	go func() {
		seen := map[string]bool{}
		for {
			for _, line := range commandLines(pid) {
				seen[line] = true
			}
			select {
			case <-done:
				var all []byte
				for line := range seen {
					all = append(append(all, line...), '\n')
				}
				ended <- all
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() []byte {
		close(done)
		return <-ended
	}
}

// commandLines are those of a process and its children, as /proc has them.
func commandLines(pid int) []string {
	self, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil // it has ended, or this machine has no /proc
	}
	all := []string{string(self)}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is right
	for _, task := range tasks {
		children, err := os.ReadFile(task)
		if err != nil {
			continue // it has ended
		}
		for word := range strings.FieldsSeq(string(children)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, commandLines(child)...)
			}
		}
	}
	return all
}

// TestLeaksAreFound: a test that finds nothing must be able to.
func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	for name, secret := range canaries {
		for _, form := range canaryForms(secret) {
			if len(leaks([]byte("x "+form+" y"))) == 0 {
				t.Errorf("%s as %q is not found", name, form)
			}
		}
	}
	if got := leaks([]byte("*** nothing here")); got != nil {
		t.Errorf("found %q in nothing", got)
	}
}
