package cmd_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lifeCanaries are secrets for the whole life of a sandbox. They are others
// than the canaries: every command line of the machine is looked at, and other
// tests may run.
var lifeCanaries = map[string]string{
	"the Web UI's token":        "canary+life/token=1&a",
	"a variable of an env file": `canary life "file" <2>`,
	"a variable of the caller":  "canary'life'3%25",
	"the configuration":         "canary/life/ä😀/4",
	"the home's .env":           "canary=life=5",
	"a secret of a build":       "canary-life-build-6",
}

// TestLifeCanaries: no command that makes sandboxes, homes, templates or images
// lets out what it is given or finds, on any way but the home itself.
func TestLifeCanaries(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	b.plantLife()
	lines := watchMachine()
	b.image("hermesbox-test/boxes-canary:1", "LABEL canary=1\n")
	create := []string{"sandbox", "create", "--home", "alice", "--workspace", "team", "--env-file", filepath.Join(b.dir, "env"), "--env", "CALLER_TOKEN"}
	for _, step := range []struct {
		code int
		args []string
	}{
		{0, []string{"template", "create", "--image", "hermesbox-test/boxes-canary:1"}},
		{3, []string{"node", "check"}}, // nothing is there yet
		{0, []string{"node", "prepare"}},
		{0, []string{"home", "seed", "--from-template"}},
		{0, []string{"home", "seed", "carol"}},
		{0, create},
		{1, create}, // the home is held
		{0, []string{"sandbox", "exec", "alice", "--", "sh", "-c", `umask 077; cat >>/root/.hermes/.env`}},
		{0, []string{"sandbox", "ls", "--health"}},
		{0, []string{"sandbox", "show", "alice"}},
		{0, []string{"sandbox", "url", "alice"}},
		{1, []string{"sandbox", "logs", "alice"}}, // this Web UI keeps none
		{0, []string{"sandbox", "pause", "alice"}},
		{0, []string{"sandbox", "resume", "alice"}},
		{0, []string{"--output", "json", "sandbox", "rebuild", "alice", "--env", "CALLER_TOKEN"}},
		{0, []string{"sandbox", "exec", "alice", "--", "cat", "/root/.hermes/.hermesbox/env", "/root/.hermes/.env", "/root/.hermes/web-ui/logs/supervisor.log"}},
		{1, []string{"sandbox", "rebuild", "alice", "--env-file", filepath.Join(b.dir, "sick")}},
		{0, []string{"home", "ls"}},
		{0, []string{"home", "show", "alice"}},
		{0, []string{"home", "seed", "--from-template", "--refresh", "--yes"}},
		{0, []string{"skills", "status"}},
		{0, []string{"config", "show"}},
		{1, []string{"build", b.dir + "/source", "-f", b.dir + "/source/Dockerfile", "--progress", "plain", "--secret", "id=canary,env=BUILD_SECRET"}},
		{0, []string{"sandbox", "stop", "alice"}},
	} {
		name := strings.Join(step.args, " ")
		b.stdin = ""
		if strings.HasSuffix(name, ".env") {
			b.stdin = "HOME_API_KEY=" + lifeCanaries["the home's .env"] + "\n"
		}
		got := b.run(step.code, append([]string{"-v"}, step.args...)...)
		b.judge(name, []byte(got.stdout+got.stderr))
		if shows := strings.Contains(name, " -- cat ") || step.args[0] == "build"; shows && !strings.Contains(got.stdout+got.stderr, "***") {
			b.Errorf("%s masks nothing: %s", name, tail(got.stderr))
		}
		if step.args[0] == "sandbox" && step.args[1] == "create" {
			b.judgeContainer(strings.TrimSpace(got.stdout))
		}
	}
	b.judge("the command lines of the machine", lines())
	b.judgeState()
}

// plantLife gives each canary its place.
func (b *boxTest) plantLife() {
	b.Helper()
	quoted, err := json.Marshal(lifeCanaries["the configuration"])
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.dir, "source"), 0o755); err != nil {
		b.Fatal(err)
	}
	file := lifeCanaries["a variable of an env file"]
	for name, text := range map[string]string{
		"env":               fmt.Sprintf("AUTH_TOKEN=%s\nFILE_API_KEY=%s\n", lifeCanaries["the Web UI's token"], file),
		"sick":              "FAKE=refuse\nFILE_API_KEY=" + file + "\n",
		"hermesbox.yaml":    fmt.Sprintf("sandbox:\n  env: {CONFIG_SECRET: %s}\n", quoted),
		"source/Dockerfile": "FROM hermesbox-standin/sandbox-code:bookworm\nRUN --mount=type=secret,id=canary cat /run/secrets/canary; date +%N; exit 9\n",
	} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.env = []string{
		"CALLER_TOKEN=" + lifeCanaries["a variable of the caller"], "BUILD_SECRET=" + lifeCanaries["a secret of a build"],
		"XDG_STATE_HOME=" + filepath.Join(b.dir, "state"), "XDG_DATA_HOME=" + filepath.Join(b.dir, "data"),
	}
}

func (b *boxTest) judge(where string, text []byte) {
	b.Helper()
	for _, leak := range leaksOf(lifeCanaries, text) {
		b.Errorf("%s: %s\n%q", where, leak, tail(string(text)))
	}
}

// judgeContainer looks at what the Engine tells of a sandbox.
func (b *boxTest) judgeContainer(id string) {
	b.Helper()
	if id == "" {
		return
	}
	told, err := b.engine.Client.ContainerInspect(b.Context(), "hermesbox-"+id)
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(told)
	if err != nil {
		b.Fatal(err)
	}
	b.judge("what the Engine tells of the sandbox", text)
}

// judgeState looks into all files that are left, but for the homes, which are
// the place of secrets, and what the test wrote.
func (b *boxTest) judgeState() {
	b.Helper()
	seen := 0
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(b.dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "alice":
			return fs.SkipDir
		case !d.Type().IsRegular(), rel == "env", rel == "sick", rel == "hermesbox.yaml":
			return nil
		}
		data, err := os.ReadFile(path)
		b.judge(rel, data)
		seen++
		return err
	})
	if err != nil || seen < 4 {
		b.Errorf("%d files looked at, %v", seen, err)
	}
}

// watchMachine collects the command lines of all processes, those in containers
// too, until the returned function is called.
func watchMachine() (stop func() []byte) {
	done := make(chan struct{})
	seen := map[string]bool{}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
			for _, file := range all {
				if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), "life") {
					seen[string(line)] = true
				}
			}
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() []byte {
		close(done)
		wait.Wait()
		var all []byte
		for line := range seen {
			all = append(append(all, line...), '\n')
		}
		return all
	}
}
