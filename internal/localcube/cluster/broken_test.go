package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const whole = `{"instance":"0123456789abcdef","templates":{"tpl-a":{"id":"tpl-a"}},"jobs":{},"sandboxes":{}}`

func TestOpenStore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text   string
		broken, lost bool
		instance     string // "" is one made from the path
	}{
		{"whole", whole, false, false, "0123456789abcdef"},
		{"cut off", whole[:60], true, true, "0123456789abcdef"},
		{"cut in the instance", whole[:20], true, true, ""},
		{"empty", "", true, true, ""},
		{"garbage", "\x00\x01 no JSON", true, true, ""},
		{"another shape", `[1,2]`, true, true, ""},
		{"null", `null`, true, true, ""},
		{"not from here", `{"templates":{}}`, true, true, ""},
		{"a short instance", `{"instance":"abc"}`, true, true, ""},
		{"an instance that is a path", `{"instance":"../../../../root"}`, true, true, ""},
		{"empty template", `{"instance":"0123456789abcdef","templates":{"a":null}}`, true, true, "0123456789abcdef"},
		{"empty job", `{"instance":"0123456789abcdef","jobs":{"a":null}}`, true, true, "0123456789abcdef"},
		{"empty sandbox", `{"instance":"0123456789abcdef","sandboxes":{"a":null}}`, true, true, "0123456789abcdef"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			st, err := openStore(dir)
			if err != nil {
				t.Fatal(err)
			}
			if (st.broken != nil) != test.broken || st.s.Lost != test.lost {
				t.Errorf("broken: %v, lost %v, want %v and %v", st.broken, st.s.Lost, test.broken, test.lost)
			}
			if test.instance != "" && st.s.Instance != test.instance || len(st.s.Instance) != 16 {
				t.Errorf("instance %q, want %q", st.s.Instance, test.instance)
			}
			kept, err := filepath.Glob(filepath.Join(dir, stateFile+".broken-*"))
			if err != nil || (len(kept) == 1) != test.broken {
				t.Fatalf("set aside: %q, %v", kept, err)
			}
			if test.broken {
				text, err := os.ReadFile(kept[0])
				if err != nil || string(text) != test.text || !strings.Contains(st.broken.Error(), kept[0]) {
					t.Errorf("set aside as %q, %v, told as %v", text, err, st.broken)
				}
			}
			again, err := openStore(dir)
			if err != nil || again.broken != nil || again.s.Instance != st.s.Instance || again.s.Lost != test.lost {
				t.Errorf("once more: %v, %v, instance %q, lost %v", err, again.broken, again.s.Instance, again.s.Lost)
			}
		})
	}
}

func TestOpenStoreUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, stateFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(dir); !errors.Is(err, ErrState) {
		t.Errorf("openStore: %v, want %v", err, ErrState)
	}
}

// FuzzParseState wants every file to be taken or refused, never to break what reads it.
func FuzzParseState(f *testing.F) {
	for _, seed := range []string{whole, whole[:40], `{"instance":"a","sandboxes":{"x":{}}}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseState(text)
		if err == nil && len(s.Instance) != 16 {
			t.Errorf("%q has the instance %q", text, s.Instance)
		}
		if id := instanceIn(text); id != "" && len(id) != 16 {
			t.Errorf("instance %q in %q", id, text)
		}
	})
}
