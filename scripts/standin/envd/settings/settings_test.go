package settings

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func TestApply(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	for _, test := range []struct {
		name    string
		merge   bool
		updates []Update
		err     error // of the last one
		env     map[string]string
		user    string
		workdir string
		token   string
	}{
		{name: "fresh", env: map[string]string{Marker: "false"}, user: "root"},
		{
			name:    "replaced",
			updates: []Update{{EnvVars: map[string]string{"A": "1", Marker: "x"}}, {EnvVars: map[string]string{"B": "2"}}},
			env:     map[string]string{"B": "2", Marker: "false"}, user: "root",
		},
		{
			name: "merged", merge: true,
			updates: []Update{{EnvVars: map[string]string{"A": "1", Marker: "x"}}, {EnvVars: map[string]string{"B": "2"}}},
			env:     map[string]string{"A": "1", "B": "2", Marker: "x"}, user: "root",
		},
		{
			name:    "defaults, empty ones ignored",
			updates: []Update{{DefaultUser: ptr("u"), DefaultWorkdir: ptr("/w")}, {DefaultUser: ptr(""), DefaultWorkdir: ptr("")}},
			env:     map[string]string{Marker: "false"}, user: "u", workdir: "/w",
		},
		{
			name:    "older is ignored",
			updates: []Update{{Timestamp: &late, DefaultUser: ptr("u")}, {Timestamp: &early, DefaultUser: ptr("v")}},
			env:     map[string]string{Marker: "false"}, user: "u",
		},
		{
			name:    "without a timestamp after one with",
			updates: []Update{{Timestamp: &late, DefaultUser: ptr("u")}, {DefaultUser: ptr("v")}},
			env:     map[string]string{Marker: "false"}, user: "v",
		},
		{
			name:    "token repeated",
			updates: []Update{{AccessToken: ptr("t")}, {AccessToken: ptr("t"), DefaultUser: ptr("u")}},
			env:     map[string]string{Marker: "false"}, user: "u", token: "t",
		},
		{
			name:    "token missing",
			updates: []Update{{AccessToken: ptr("t")}, {DefaultUser: ptr("u")}},
			err:     ErrTokenMissing, env: map[string]string{Marker: "false"}, user: "root", token: "t",
		},
		{
			name:    "token differs",
			updates: []Update{{AccessToken: ptr("t")}, {AccessToken: ptr("s")}},
			err:     ErrTokenDiffers, env: map[string]string{Marker: "false"}, user: "root", token: "t",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := New(false)
			s.Merge = test.merge
			var err error
			for _, u := range test.updates {
				err = s.Apply(u)
			}
			if !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.env, s.Env()); diff != "" {
				t.Errorf("Env (-want +got):\n%s", diff)
			}
			if s.User() != test.user || s.Workdir() != test.workdir || s.Token() != test.token {
				t.Errorf("user %q workdir %q token %q", s.User(), s.Workdir(), s.Token())
			}
		})
	}
}

func TestMarker(t *testing.T) {
	t.Parallel()
	if got := New(true).Env()[Marker]; got != "true" {
		t.Errorf("in a microVM: %q", got)
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	s := New(false)
	if !s.Grants("anything") {
		t.Error("no token set, yet one was needed")
	}
	if err := s.Apply(Update{AccessToken: ptr("t")}); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]bool{"t": true, "": false, "tt": false} {
		if got := s.Grants(given); got != want {
			t.Errorf("Grants(%q) = %v", given, got)
		}
	}
}
