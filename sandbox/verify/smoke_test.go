package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

// left is what verify left of its own: sandboxes, homes and workspaces.
func (s *stage) left() []string {
	s.Helper()
	all, err := s.client.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	for _, box := range all {
		out = append(out, "sandbox "+box.Name)
	}
	for _, pattern := range []string{"hermes-homes/verify-*", "hermes-workspaces/verify-*", "hermes-homes/.hermesbox/stage/*", "hermes-homes/.hermesbox/sandboxes/*"} {
		found, err := filepath.Glob(filepath.Join(s.opts.SharedRoot, pattern))
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// TestSmoke verifies a template with sandboxes of its own, well and broken.
func TestSmoke(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	s.onNode(publicSkills)
	r, err := verify.Smoke(t.Context(), s.client, sandbox.Spec{}, s.options())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if skipped := c.ID == "egress-denied" && !s.status.EgressEnforced; c.Status != check.Pass && !skipped {
			t.Errorf("%s %s: %s", c.Status, c.ID, c.Evidence)
		}
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if r.Template != s.client.Latest.ID || r.Sandbox == "" || r.Status != check.Pass {
		t.Errorf("report of %q, %q: %s", r.Sandbox, r.Template, r.Status)
	}
}

// during has something happen when verify says that it does something.
func during(o verify.Options, word string, times int, do func(said string)) verify.Options {
	note, seen := o.Note, 0
	o.Note = func(format string, args ...any) {
		said := fmt.Sprintf(format, args...)
		note("%s", said)
		if strings.HasPrefix(said, word) {
			if seen++; seen == times {
				do(said)
			}
		}
	}
	return o
}

// TestSmokeBroken: what happens to the node while verify works is seen.
func TestSmokeBroken(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	s.create("bystander")
	s.onNode(`mkdir -p "$1/hermes-homes/default/skills/own" && cp -a "$1/hermes-homes/default" "$1/hermes-homes/idle"`)
	for _, test := range []struct {
		name, word string
		times      int
		line       string
		fail, says string
		skip       string
	}{
		{"the mark is lost", "rebuilding", 1, `rm "$1"/hermes-homes/verify-*/.hermesbox-verify-*`, "rebuild", "the mark /root/.hermes/.hermesbox-verify-", "isolation"},
		{"a link among the skills appears", "rebuilding", 1, `for at in "$1"/hermes-homes/verify-*; do mkdir -p "$at/skills" && ln -s /tmp "$at/skills/x" || exit; done`, "rebuild", `the skills changed: lost ; new links "x -> /tmp"`, "isolation"},
		{"a private skill is lost", "rebuilding", 1, `rm -r "$1"/hermes-homes/verify-*/skills/own`, "rebuild", `the skills changed: lost "own"`, "isolation"},
		{"the token changes", "rebuilding", 1, `for at in "$1"/hermes-homes/verify-*; do echo other >"$at/web-ui/.token" || exit; done`, "rebuild", "its token is another", "isolation"},
		{"the default home changes", "making sandbox", 2, `sed -i s/stand/sTand/ "$1/hermes-homes/default/SOUL.md"`, "isolation", "hermes-homes/default", ""},
		{"an idle home changes", "making sandbox", 2, `touch "$1/hermes-homes/idle/config.yaml"`, "isolation", "hermes-homes/idle/config.yaml", ""},
		{"a skill appears", "making sandbox", 2, `mkdir "$1/hermes-common-skills/new"`, "isolation", "hermes-common-skills/new", ""},
		{"another workspace has something", "making sandbox", 2, `for at in "$1"/hermes-workspaces/verify-*; do cp -a "$at" "${at%?}_"; done`, "isolation", "a sandbox on another home and workspace sees /workspace/.hermesbox-verify-", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &stage{TB: t, status: s.status, opts: s.opts, client: s.client, node: s.node}
			o := during(s.options(), test.word, test.times, func(string) { s.onNode(test.line) })
			o.Only = []string{"command-service", "mounts", "write-probe", "node", "rebuild", "isolation"}
			r, err := verify.Smoke(t.Context(), s.client, sandbox.Spec{NoWebUI: !strings.Contains(test.name, "token")}, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Checks {
				want := check.Pass
				switch c.ID {
				case test.fail:
					want = check.Fail
					if !strings.Contains(c.Evidence, test.says) {
						t.Errorf("%s: %s", c.ID, c.Evidence)
					}
				case test.skip:
					want = check.Skip
				}
				if c.Status != want {
					t.Errorf("%s %s, want %s: %s", c.Status, c.ID, want, c.Evidence)
				}
			}
		})
	}
	if left := s.left(); len(left) != 2 { // the bystander and its record
		t.Errorf("left over: %q", left)
	}
}

// TestSmokeInterrupted: wherever verify is interrupted, nothing stays.
func TestSmokeInterrupted(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	for _, at := range []struct {
		word  string
		times int
	}{{"making sandbox", 1}, {"rebuilding", 1}, {"making sandbox", 2}} {
		t.Run(fmt.Sprint(at.word, at.times), func(t *testing.T) {
			s := &stage{TB: t, status: s.status, opts: s.opts, client: s.client, node: s.node}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := during(s.options(), at.word, at.times, func(string) { time.AfterFunc(400*time.Millisecond, cancel) })
			o.Only = []string{"rebuild", "isolation"}
			if _, err := verify.Smoke(ctx, s.client, sandbox.Spec{}, o); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if left := s.left(); len(left) > 0 {
				t.Errorf("left over: %q", left)
			}
		})
	}
}

// baked is what TestSmokeSecrets's image has.
const baked = `in the environment of process 1: "ADMIN_PASSWORD", "HTTP_PROXY"; in the image, outside of home and workspace: "/root/.npmrc", "/usr/share/hermesbox/home/.token"`

// TestSmokeSecrets: what comes with an image is found, and a start that fails
// is told by the checks.
func TestSmokeSecrets(t *testing.T) {
	t.Parallel()
	s := newStage(t, "ENV ADMIN_PASSWORD=x GPG_KEY=0123 HTTP_PROXY=http://u:p@proxy:3128\nRUN echo '//r/:_authToken=t' >/root/.npmrc && mkdir -p /usr/share/hermesbox/home && echo t >/usr/share/hermesbox/home/.token\nRUN mkdir -p /root/.cache && touch /root/.cache/._x /root/.cache/._y && printf '/root/.cache/._y\\0' >/usr/share/hermesbox/base-litter && rm /usr/local/bin/hermes-studio\n")
	o := s.options()
	r, err := verify.Smoke(t.Context(), s.client, sandbox.Spec{}, o)
	if err != nil {
		t.Fatal(err)
	}
	got := statuses(r)
	if got["web-ui"] != "fail" || got["secrets"] != "skip web-ui" || got["litter"] != "warn" || got["source"] != "pass" {
		t.Errorf("%v", got)
	}
	for _, c := range r.Checks {
		if c.ID == "litter" && !strings.Contains(c.Evidence, `1 elsewhere in the image: "/root/.cache/._x"`) {
			t.Errorf("litter: %s", c.Evidence)
		}
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	alone := o
	alone.Only = []string{"secrets"}
	r, err = verify.Smoke(t.Context(), s.client, sandbox.Spec{NoWebUI: true}, alone)
	if err != nil || len(r.Checks) != 1 || r.Checks[0].Evidence != baked {
		t.Errorf("%v, %+v", err, r.Checks)
	}
	if _, err := verify.Smoke(t.Context(), s.client, sandbox.Spec{Template: "tpl-none"}, o); err == nil {
		t.Error("a template that is not there was verified")
	}
	if _, err := verify.Smoke(t.Context(), s.client, sandbox.Spec{}, verify.Options{Only: []string{"nothing"}}); !errors.Is(err, verify.ErrCheck) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(s.opts.SharedRoot, "hermes-homes", "default", "config.yaml")); err != nil {
		t.Errorf("the default home: %v", err)
	}
}
