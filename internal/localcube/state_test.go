package localcube_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// TestBrokenState breaks the state file: the next server keeps it aside and finds
// the sandboxes again, and down removes all without it.
func TestBrokenState(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	opts := background(t, engine)
	st := ensure(t, opts)
	instance := instanceOf(t, opts.StateDir)
	tpl := template(t, st)
	running, paused := create(t, st, tpl), create(t, st, tpl)
	post(st.APIURL+"/sandboxes/"+paused+"/pause", "")
	breakState(t, opts, st)

	st = ensure(t, opts)
	agree(t, engine, st, instance, "a broken state file")
	for id, want := range map[string]string{running: `"state":"running"`, paused: `"state":"paused"`} {
		if got := text(t, st.APIURL+"/sandboxes/"+id); !strings.Contains(got, want) || strings.Contains(got, "endAt") {
			t.Errorf("sandbox %s: %s, want %s and no end", id, got, want)
		}
	}
	if got := text(t, st.APIURL+"/templates"); got != "[]" {
		t.Errorf("templates: %s, want none", got)
	}
	log, err := os.ReadFile(filepath.Join(opts.StateDir, "serve.log"))
	if err != nil || !strings.Contains(string(log), "state.json.broken-") || !strings.Contains(string(log), "sandboxes=2") {
		t.Errorf("the log names neither the broken file nor the sandboxes: %v\n%s", err, log)
	}

	breakState(t, opts, st)
	lock := filepath.Join(opts.StateDir, localcube.LockDir, "template-x")
	if err := errors.Join(os.Mkdir(filepath.Dir(lock), 0o700), os.WriteFile(lock, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	down := exec.CommandContext(t.Context(), opts.Exe, "local", "down", "--state-dir", opts.StateDir)
	if out, err := down.CombinedOutput(); err != nil {
		t.Fatalf("local down: %v\n%s", err, out)
	}
	nothingLeft(t, engine, instance)
	if left, err := os.ReadDir(opts.StateDir); len(left) > 0 {
		t.Errorf("left in the state directory: %v, %v", left, err)
	}
}

// breakState kills the server and leaves half of its state file.
func breakState(t *testing.T, opts localcube.EnsureOptions, st localcube.Status) {
	t.Helper()
	kill(t, st.PID)
	path := filepath.Join(opts.StateDir, "state.json")
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
