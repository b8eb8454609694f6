package cmd_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/build"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// boxTest is a local Cube of its own, and commands against it.
type boxTest struct {
	*testing.T
	engine dockertest.Engine
	dir    string
	env    []string
	stdin  string
	all    strings.Builder // everything that was printed, but by url --with-token
}

func newBoxes(t *testing.T) *boxTest {
	t.Helper()
	b := &boxTest{T: t, engine: dockertest.Default(t)}
	b.engine.NeedBase(t)
	dir, err := os.MkdirTemp("", "hermesbox-boxes-") //nolint:usetesting // root writes there, whom the user cannot clean up after
	if err != nil {
		t.Fatal(err)
	}
	b.dir = dir
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if got := run(t, prepare(ctx, t, b.dir, b.engine, "local", "down")); got.code != 0 {
			t.Errorf("local down: %s", got.stderr)
		}
		os.RemoveAll(dir) //nolint:errcheck // what root wrote there may stay
	})
	return b
}

// image makes an image of the stand-in base and of files of package sandbox's
// stand-in Web UI.
func (b *boxTest) image(ref, more string) {
	b.Helper()
	studio := filepath.Join("..", "sandbox", "testdata", "studio")
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	for _, name := range []string{"Dockerfile", "hermes-studio", "config.yaml"} {
		text, err := os.ReadFile(filepath.Join(studio, name))
		if err != nil {
			b.Fatal(err)
		}
		if name == "Dockerfile" {
			text = append(text, more...)
		}
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			b.Fatal(err)
		}
		if _, err := out.Write(text); err != nil {
			b.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
	b.engine.RemoveImage(b.T, ref)
	res, err := b.engine.Client.ImageBuild(b.Context(), &archive, build.ImageBuildOptions{Tags: []string{ref}, NoCache: true, Remove: true})
	if err != nil {
		b.Fatal(err)
	}
	said, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || strings.Contains(string(said), `"error"`) {
		b.Fatalf("building %s: %v\n%s", ref, err, said)
	}
}

// run runs a command on the local Cube and wants its exit code.
func (b *boxTest) run(code int, args ...string) ran {
	b.Helper()
	cmd := prepare(b.Context(), b.T, b.dir, b.engine, append([]string{"--cube", "local"}, args...)...)
	cmd.Env = append(cmd.Env, b.env...)
	if b.stdin != "" {
		cmd.Stdin = strings.NewReader(b.stdin)
	}
	got := run(b.T, cmd)
	if args[len(args)-1] != "--with-token" {
		b.all.WriteString(got.stdout + got.stderr)
	}
	if got.code != code {
		b.Fatalf("%q: exit code %d, want %d\n%s%s", args, got.code, code, got.stdout, tail(got.stderr))
	}
	return got
}

// ask is run for a command that prints one line.
func (b *boxTest) ask(args ...string) string {
	b.Helper()
	return strings.TrimSpace(b.run(0, args...).stdout)
}

// TestSandboxes goes through the life of sandboxes by commands, and looks for
// secrets in everything that was printed.
func TestSandboxes(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	canary := "canary value/+%0123456789"
	b.env = []string{"OPENAI_API_KEY=" + canary}
	b.image("hermesbox-test/boxes:1", "LABEL round=1\n")
	first := b.ask("template", "create", "--image", "hermesbox-test/boxes:1")
	made := b.run(0, "sandbox", "create", "--home", "alice", "--workspace", "team", "--env", "OPENAI_API_KEY", "--env", "MODE=blue")
	id := strings.TrimSpace(made.stdout)
	for n := 1; n <= 10; n++ {
		if !strings.Contains(made.stderr, fmt.Sprintf("hermesbox: step %d/10 ", n)) {
			t.Errorf("step %d is not reported\n%s", n, made.stderr)
		}
	}
	b.run(0, "sandbox", "create", "--home", "bob", "--workspace", "bob", "--no-web-ui", "--name", "robert")
	b.run(1, "sandbox", "create", "--home", "bob", "--workspace", "other")
	address := b.run(0, "sandbox", "url", "alice", "--with-token").stdout
	_, token, ok := strings.Cut(strings.TrimSpace(address), "#/?token=")
	if !ok || len(token) != 64 || !strings.Contains(address, "9000-"+id) {
		t.Fatalf("url --with-token: %q", address)
	}
	if as := b.run(0, "--output", "json", "sandbox", "url", "alice", "--with-token"); !strings.Contains(as.stdout, `"url":"http://9000-`) {
		t.Errorf("as JSON: %q", as.stdout)
	}
	b.run(0, "-v", "--output", "json", "sandbox", "show", "alice")
	b.run(0, "sandbox", "ls", "--health")

	b.image("hermesbox-test/boxes:2", "LABEL round=2\n")
	if second := b.ask("template", "create", "--image", "hermesbox-test/boxes:2"); second == first {
		t.Fatal("the second template is the first")
	}
	rebuilt := strings.Fields(b.run(0, "sandbox", "rebuild", "--outdated", "--no-web-ui").stdout)
	if len(rebuilt) != 2 {
		t.Errorf("rebuilt %q", rebuilt)
	}
	var list []struct {
		Name     string
		Outdated bool
	}
	if err := json.Unmarshal([]byte(b.run(0, "--output", "json", "sandbox", "ls").stdout), &list); err != nil || len(list) != 2 || list[0].Outdated || list[1].Outdated {
		t.Errorf("%+v, %v", list, err)
	}
	if kept := b.run(0, "sandbox", "rebuild", "alice"); !strings.Contains(kept.stderr, "web ui: skipped: --no-web-ui") {
		t.Errorf("--no-web-ui is not kept: %s", kept.stderr)
	}
	anew := b.run(0, "-v", "sandbox", "rebuild", "alice", "--no-web-ui=false", "--output", "json")
	if !strings.Contains(anew.stdout, `"detail": "kept"`) {
		t.Errorf("rebuild: %s", anew.stdout)
	}
	if again := b.run(0, "sandbox", "url", "alice", "--with-token").stdout; !strings.HasSuffix(strings.TrimSpace(again), token) {
		t.Error("the token did not survive three rebuilds")
	}
	b.run(0, "sandbox", "stop", "alice", "robert")
	for _, secret := range []string{token, canary} {
		quoted, _ := json.Marshal(secret)
		for _, form := range []string{secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)), strings.Trim(string(quoted), `"`)} {
			if strings.Contains(b.all.String(), form) {
				t.Errorf("a secret was printed as %s", form[:8])
			}
		}
	}
}

// TestSandboxOddTemplates: each failure names the step, leaves the sandbox and
// says how to go on.
func TestSandboxOddTemplates(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	b.image("hermesbox-test/boxes-plain:1", "LABEL odd=none\n")
	plain := b.ask("template", "create", "--image", "hermesbox-test/boxes-plain:1")
	b.image("hermesbox-test/boxes-broken:1", "RUN rm /usr/local/bin/hermes-studio\n")
	b.run(0, "template", "create", "--image", "hermesbox-test/boxes-broken:1", "--name", "broken")
	got := b.run(1, "sandbox", "create", "--home", "alice", "--workspace", "team", "--template", "broken")
	id := strings.TrimSpace(got.stdout)
	for _, words := range []string{
		"error: step 8/10 web ui: the template has no /usr/local/bin/hermes-studio", "hint: use a template of an image from hermesbox build",
		"sandbox " + id + " stays to be looked at", "hermesbox --cube local sandbox rebuild alice",
	} {
		if !strings.Contains(got.stderr, words) {
			t.Errorf("%q not in\n%s", words, got.stderr)
		}
	}
	if again := b.run(0, "sandbox", "rebuild", "alice", "--template", plain); strings.TrimSpace(again.stdout) == id {
		t.Error("the rebuilt one has the old id")
	}

	// All that are outdated: the first goes well, the second fails, the third is left.
	aaa := b.ask("sandbox", "create", "--home", "aaa", "--workspace", "aaa", "--no-web-ui")
	zoe := b.ask("sandbox", "create", "--home", "zoe", "--workspace", "zoe", "--no-web-ui")
	b.image("hermesbox-test/boxes-broken:2", "RUN rm /usr/local/bin/hermes-studio\nLABEL round=2\n")
	b.run(0, "template", "create", "--image", "hermesbox-test/boxes-broken:2")
	got = b.run(5, "sandbox", "rebuild", "--outdated")
	done := strings.Fields(got.stdout)
	left := b.run(0, "sandbox", "ls").stdout
	if len(done) != 2 || !strings.Contains(left, done[0]+"  aaa") || !strings.Contains(left, done[1]+"  alice") || !strings.Contains(left, zoe+"  zoe") || strings.Contains(left, aaa) ||
		!strings.Contains(got.stderr, "1 rebuilt, 1 left as they are") || !strings.Contains(got.stderr, "error: step 8/10 web ui") {
		t.Errorf("rebuilt %q\n%s\n%s", done, left, got.stderr)
	}
}

// TestSandboxCutShort: a sandbox that somebody deletes during the create, and a
// create that is interrupted.
func TestSandboxCutShort(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	b.image("hermesbox-test/boxes-slow:1", "RUN printf '#!/bin/sh\\nsleep 600\\n' >/usr/local/bin/hermes-studio\n")
	b.run(0, "template", "create", "--image", "hermesbox-test/boxes-slow:1")
	killed := b.cut("alice", func(*os.Process) { b.run(0, "sandbox", "stop", "alice") })
	if killed.code != 1 || !strings.Contains(killed.stderr, "error: the sandbox was ended meanwhile: step 8/10 web ui: ") ||
		!strings.Contains(killed.stderr, "hint: its home and workspace are intact") || strings.Contains(killed.stderr, "stays to be looked at") {
		t.Errorf("deleted: exit code %d\n%s", killed.code, killed.stderr)
	}
	interrupted := b.cut("bob", func(p *os.Process) {
		if err := p.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	id := strings.TrimSpace(interrupted.stdout)
	if interrupted.code != 130 || id == "" || !strings.Contains(interrupted.stderr, "sandbox "+id+" stays to be looked at") || !strings.Contains(interrupted.stderr, "sandbox rebuild bob") {
		t.Errorf("interrupted: exit code %d, %q\n%s", interrupted.code, interrupted.stdout, interrupted.stderr)
	}
	if got := b.run(1, "sandbox", "create", "--home", "bob", "--workspace", "other"); !strings.Contains(got.stderr, "held by sandbox bob ("+id) {
		t.Errorf("afterwards: %s", got.stderr)
	}
}

// cut starts a create and does something to it when it waits for the Web UI.
func (b *boxTest) cut(home string, do func(*os.Process)) ran {
	b.Helper()
	cmd := prepare(b.Context(), b.T, b.dir, b.engine, "--cube", "local", "sandbox", "create", "--home", home, "--workspace", home)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "step 7/10") {
			do(cmd.Process)
		}
	}
	if err := cmd.Wait(); err == nil {
		b.Errorf("it went well\n%s", said.String())
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), said.String()}
}

// TestMountRefused: a directory that the cluster does not allow to be mounted is explained.
func TestMountRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ answer, hint string }{
		"prefix":    {`"host-mount" entry[0]: hostPath must be under one of [/data/shared/], got "/srv/x"`, "set shared_root to a directory that the cluster allows"},
		"directory": {`prepareHostDirVolume: bind mount /data/shared/x -> /y: no such file or directory`, "make it there (hermesbox node prepare"},
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v2/sandboxes", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, []string{}) })
		mux.HandleFunc("GET /templates", func(w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusOK, []map[string]any{{"templateID": "tpl-1", "status": "READY", "names": []string{"hermes-studio"}}})
		})
		mux.HandleFunc("POST /sandboxes", func(w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusInternalServerError, map[string]any{"code": 500, "message": "CubeMaster returned error code 130400: " + test.answer})
		})
		server := httptest.NewServer(mux)
		got := hermesbox(t, []string{"CUBE_API_URL=" + server.URL}, "sandbox", "create", "--home", "a", "--workspace", "w")
		server.Close()
		for _, words := range []string{"step 2/10 directories: skipped: no node access", "error: step 4/10 sandbox: ", "hint: ", test.hint} {
			if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, words) {
				t.Errorf("%s: exit code %d, %q not in\n%s", name, got.code, words, got.stderr)
			}
		}
	}
}

// TestSandboxLsFast lists 500 sandboxes as a user does, the start of the program
// included.
func TestSandboxLsFast(t *testing.T) {
	t.Parallel()
	var boxes []map[string]any
	for i := range 500 {
		boxes = append(boxes, map[string]any{
			"sandboxID": fmt.Sprintf("box%03d", i), "templateID": "tpl-1", "clientID": "node", "state": "running",
			"metadata": map[string]string{"hermesbox.name": fmt.Sprint("name-", i), "hermesbox.home": fmt.Sprint("home-", i), "hermesbox.generation": fmt.Sprint(i + 1), "cube.label": strings.Repeat("x", 200)},
		})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/sandboxes", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, boxes) })
	mux.HandleFunc("GET /templates", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, []string{}) })
	server := httptest.NewServer(mux)
	defer server.Close()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	best := time.Hour
	for range 5 { // the machine may be busy
		cmd := exec.CommandContext(t.Context(), path, "sandbox", "ls")
		cmd.Dir, cmd.Env = t.TempDir(), []string{"CUBE_API_URL=" + server.URL, "HOME=" + t.TempDir()}
		began := time.Now()
		out, err := cmd.Output()
		if err != nil || strings.Count(string(out), "\n") != 501 {
			t.Fatalf("%v\n%s", err, tail(string(out)))
		}
		best = min(best, time.Since(began))
	}
	t.Logf("%v", best)
	if best > 300*time.Millisecond {
		t.Errorf("listing 500 sandboxes takes %v, at most 300 ms are allowed", best)
	}
}
