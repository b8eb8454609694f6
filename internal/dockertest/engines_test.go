package dockertest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, list string
		want       []Engine
		err        string
	}{
		{name: "empty"},
		{
			name: "two", list: " 20.10=unix:///a today=tcp://127.0.0.1:1?x=y ",
			want: []Engine{{Name: "20.10", Host: "unix:///a"}, {Name: "today", Host: "tcp://127.0.0.1:1?x=y"}},
		},
		{name: "no host", list: "today", err: `"today" is not name=docker-host`},
		{name: "empty name", list: "=unix:///a", err: `"=unix:///a" is not name=docker-host`},
		{name: "empty host", list: "a=", err: `"a=" is not name=docker-host`},
		{name: "twice", list: "a=unix:///a a=unix:///b", err: `two Engines named "a"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(test.list)
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(Engine{}, "Client")); diff != "" {
				t.Errorf("parse (-want +got):\n%s", diff)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("parse: error %v, want %q", err, test.err)
			}
		})
	}
}

func TestEnginesThatDoNotAnswer(t *testing.T) {
	for _, test := range []struct {
		name, engines, require string
		fails                  string
	}{
		{"none required", "20.10=unix:///nonexistent today=unix:///nonexistent", "sshd", ""},
		{"docker required", "20.10=unix:///nonexistent", "docker", "docker is required"},
		{"today required", "today=unix:///nonexistent", "docker-today", "docker-today is required"},
		{"today required, unnamed", "20.10=unix:///nonexistent", "docker-today", `no Engine "today"`},
		{"not a host", "20.10=nonsense", "docker", "docker is required"},
		{"malformed", "nonsense", "", "is not name=docker-host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(EnginesVar, test.engines)
			t.Setenv(RequireVar, test.require)
			v := judge(t, func(tb testing.TB) { Engines(tb) })
			if test.fails == "" && (v.skipped == "" || v.failed != "") {
				t.Errorf("not skipped but failed: %q", v.failed)
			}
			if !strings.Contains(v.failed, test.fails) {
				t.Errorf("failed: %q, want %q in it", v.failed, test.fails)
			}
		})
	}
}

func TestDefaultHost(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///elsewhere")
	if got := defaultHost(); got != "unix:///elsewhere" {
		t.Errorf("defaultHost: %s", got)
	}
	t.Setenv("DOCKER_HOST", "")
	if got := defaultHost(); !strings.HasPrefix(got, "unix://") {
		t.Errorf("defaultHost without DOCKER_HOST: %s", got)
	}
}
