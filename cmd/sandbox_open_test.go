package cmd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browserScript stands for a browser's opener. It keeps what it was started
// with and where that led.
const browserScript = `#!/bin/sh
echo "$@" >"$SEEN/args"
curl -s -o /dev/null -w '%{http_code} %{redirect_url}' "$1" >"$SEEN/first"
curl -s -o /dev/null -w '%{http_code} %{redirect_url}' "$1" >"$SEEN/second"
touch "$SEEN/done"
`

// withBrowser is a directory with an opener in it.
func withBrowser(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpen(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	seedStudio(t, c)
	dir, seen := withBrowser(t, browserScript), t.TempDir()
	cmd := w.command(t, "sandbox", "open", "alice")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(cmd.Env, "PATH="+dir+":"+os.Getenv("PATH"), "SEEN="+seen)
	if err := cmd.Run(); err != nil || stdout.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) { // the browser goes on without hermesbox
		if _, err := os.Stat(filepath.Join(seen, "done")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the browser does not end")
		}
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(seen, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}
	if got := read("first"); !strings.HasPrefix(got, "302 http://9000-sb-1.cube.test") || !strings.HasSuffix(got, "/#/?token="+execToken) {
		t.Errorf("the browser was led to %q", got)
	}
	if got := read("second"); strings.Contains(got, execToken) {
		t.Errorf("a second visitor was led to %q", got)
	}
	if args := read("args"); !strings.HasPrefix(args, "http://127.0.0.1:") || strings.Contains(args, execToken) {
		t.Errorf("the browser was started with %q", args)
	}
	if !strings.Contains(stderr.String(), "hermesbox: opened http://9000-sb-1.cube.test") || strings.Contains(stderr.String(), execToken) {
		t.Errorf("stderr: %s", stderr.String())
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	w, c := studio(t)
	const hint = "hint: hermesbox sandbox url alice --with-token prints the address"
	for _, test := range []struct {
		name, path string
		code       int
		says       []string
	}{
		{"no browser", t.TempDir(), 1, []string{"no program opens a browser", hint}},
		{"no token", withBrowser(t, browserScript) + ":/bin:/usr/bin", 1, []string{"token"}},
	} {
		cmd := w.command(t, "sandbox", "open", "alice")
		cmd.Env = append(cmd.Env, "PATH="+test.path)
		got := run(t, cmd)
		if got.code != test.code {
			t.Errorf("%s: exit code %d, want %d", test.name, got.code, test.code)
		}
		for _, text := range test.says {
			if !strings.Contains(got.stderr, text) {
				t.Errorf("%s: stderr lacks %q:\n%s", test.name, text, got.stderr)
			}
		}
	}
	seedStudio(t, c)
	cmd := w.command(t, "sandbox", "open", "alice")
	cmd.Env = append(cmd.Env, "PATH="+withBrowser(t, "#!/bin/sh\nexit 3\n")+":/bin:/usr/bin")
	if got := run(t, cmd); got.code != 1 || !strings.Contains(got.stderr, "exit status 3") || !strings.Contains(got.stderr, hint) {
		t.Errorf("a browser that fails: exit code %d\n%s", got.code, got.stderr)
	}
}
