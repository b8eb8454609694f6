package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/check"
)

// TestInTime: what heeds its context tells in its own words that time is over; what
// does not is left behind.
func TestInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, forever := time.Now(), make(chan struct{})
		defer close(forever)
		heeds := inTime(t.Context(), time.Minute, "mend it", func(ctx context.Context) check.Result {
			<-ctx.Done()
			return check.Result{Status: check.Fail, Evidence: "called off"}
		})
		if heeds.Evidence != "called off" || time.Since(began) != time.Minute {
			t.Errorf("%+v after %s", heeds, time.Since(began))
		}
		deaf := inTime(t.Context(), time.Minute, "mend it", func(context.Context) check.Result {
			<-forever
			return check.Result{Status: check.Pass}
		})
		if took := time.Since(began); took != 2*time.Minute+lastWords {
			t.Errorf("it took %s", took)
		}
		interrupted, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		at := time.Now()
		inTime(interrupted, time.Minute, "", func(context.Context) check.Result {
			<-forever
			return check.Result{}
		})
		if took := time.Since(at); took != time.Second+lastWords {
			t.Errorf("interrupted, it took %s", took)
		}
		want := check.Result{Status: check.Fail, Evidence: "no answer within 1m0s", Remedy: "mend it"}
		if diff := cmp.Diff(want, deaf); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTogether: exams are made at once, and told in their order.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		after := func(id string, d time.Duration) exam {
			return one(id, "", "", func(context.Context) check.Result {
				time.Sleep(d)
				return skip(id)
			})
		}
		found := together(t.Context(), after("a", 3*time.Second), after("b", time.Second), after("c", 2*time.Second))
		if time.Since(began) != 3*time.Second || len(found) != 3 || found[0].ID+found[1].ID+found[2].ID != "abc" {
			t.Errorf("%+v after %s", found, time.Since(began))
		}
	})
}

// TestCondense: all findings are told with their remedies, but not without end.
func TestCondense(t *testing.T) {
	t.Parallel()
	finding := func(id string, status check.Status, remedy string) check.Check {
		return check.Check{ID: id, Status: status, Evidence: "seen", Remedy: remedy}
	}
	for name, tt := range map[string]struct {
		checks []check.Check
		want   check.Result
	}{
		"none":       {nil, check.Result{Status: check.Pass, Evidence: "well"}},
		"passed":     {[]check.Check{finding("a", check.Pass, ""), finding("b", check.Skip, "no")}, check.Result{Status: check.Pass, Evidence: "well"}},
		"two alike":  {[]check.Check{finding("a", check.Warn, "mend"), finding("b", check.Fail, "mend")}, check.Result{Status: check.Fail, Evidence: "a: seen; b: seen", Remedy: "mend"}},
		"two":        {[]check.Check{finding("a", check.Warn, "mend"), finding("b", check.Warn, "glue")}, check.Result{Status: check.Warn, Evidence: "a: seen; b: seen", Remedy: "mend; glue"}},
		"no remedy":  {[]check.Check{finding("a", check.Fail, "")}, check.Result{Status: check.Fail, Evidence: "a: seen", Remedy: "ask"}},
		"very many":  {[]check.Check{finding("a", check.Fail, "1"), finding("b", check.Fail, "2"), finding("c", check.Fail, "3"), finding("d", check.Fail, "4"), finding("e", check.Fail, "5"), finding("f", check.Fail, "6")}, check.Result{Status: check.Fail, Evidence: "a: seen; b: seen; c: seen; d: seen; 2 more", Remedy: "1; 2; 3; 4; ask"}},
		"many alike": {[]check.Check{finding("a", check.Fail, "1"), finding("b", check.Fail, "1"), finding("c", check.Fail, "1"), finding("d", check.Fail, "1"), finding("e", check.Fail, "1")}, check.Result{Status: check.Fail, Evidence: "a: seen; b: seen; c: seen; d: seen; 1 more", Remedy: "1; ask"}},
	} {
		if diff := cmp.Diff(tt.want, condense(tt.checks, "well", "ask")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestDockerRemedy: each way in which an Engine cannot be had has a next step.
func TestDockerRemedy(t *testing.T) {
	t.Parallel()
	for words, err := range map[string]error{
		`sudo usermod -aG docker "$USER"`: fmt.Errorf("%w at unix:///var/run/docker.sock", image.ErrNotPermitted),
		"hermesbox uses the ssh program":  fmt.Errorf("%w at ssh://build", image.ErrNoEngine),
		"start Docker":                    fmt.Errorf("%w at unix:///x", image.ErrNoEngine),
		"docker context ls":               fmt.Errorf("%w: context not found", image.ErrDockerConfig),
		"write DOCKER_HOST as":            fmt.Errorf("%w: DOCKER_HOST foo", image.ErrDockerConfig),
		"mend the file that it names":     fmt.Errorf("%w: reading config.json", image.ErrDockerConfig),
		"the Docker configuration":        fmt.Errorf("%w: DOCKER_CERT_PATH", image.ErrDockerConfig),
		"restart Docker":                  fmt.Errorf("asking: %w", context.DeadlineExceeded),
		"see whether docker version":      errors.New("anything else"),
	} {
		if got := dockerRemedy(err); !strings.Contains(got, words) {
			t.Errorf("%v: %q, want %q in it", err, got, words)
		}
	}
}

// TestGitRemedy: what git says has a next step.
func TestGitRemedy(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`exec: "git": executable file not found in $PATH`:         "install git",
		"fatal: detected dubious ownership in repository at '/x'": "git config --global --add safe.directory /x",
		"it has no commit": "commit it once",
		"fatal: your current branch 'main' does not have any commits yet": "commit it once",
		"fatal: bad object HEAD": "git -C /x log -1 shows it; images do without the label",
	} {
		if got := gitRemedy(said, "/x"); got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}

// TestShellWord: a remedy can be pasted into a shell.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/a/b-c.d": "/a/b-c.d", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "~/a": "'~/a'", "ä": "'ä'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
