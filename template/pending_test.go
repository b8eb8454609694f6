package template

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hold takes a lock in dir for a client, and gives what it finds at the end.
func hold(t *testing.T, c *Client, dir string) {
	t.Helper()
	held, err := Lock(t.Context(), dir, "key", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Held = held
}

// register registers under the lock, as one run of create does.
func register(t *testing.T, c *Client, dir string, s Spec, detach bool) (Registered, error) {
	t.Helper()
	hold(t, c, dir)
	got, err := c.Register(t.Context(), s, detach)
	if cerr := c.Held.Close(); cerr != nil {
		t.Error(cerr)
	}
	return got, err
}

func wantFiles(t *testing.T, dir string, want int) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) != want {
		t.Errorf("files of locks: %v, %v, want %d", left, err, want)
	}
}

// TestJoin: a job that runs is not doubled, whether it is waited for or not.
func TestJoin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, c := newFake(t, map[string][]string{
		listRoute: {listed()}, submitRoute: {job("PENDING", "", 0)},
		jobRoute: {job("RUNNING", "PULLING", 5), job("RUNNING", "PULLING", 5), job("RUNNING", "UNPACKING", 20), job("READY", "READY", 100)},
	})
	first, err := register(t, c, dir, wanted(t), true)
	if err != nil || !first.Made || first.Status != "PENDING" {
		t.Fatalf("first: %+v, %v", first, err)
	}
	wantFiles(t, dir, 1)
	for range 2 {
		again, err := register(t, c, dir, wanted(t), true)
		if err != nil || again.Made || again.ID != first.ID || again.Job != first.Job || again.Status != "RUNNING" {
			t.Errorf("again: %+v, %v", again, err)
		}
	}
	if notes := strings.Join(f.notes, "\n"); !strings.Contains(notes, "template tpl-new is being made already, with the same image and settings: PULLING 5%") {
		t.Errorf("said %q", notes)
	}
	last, err := register(t, c, dir, wanted(t), false)
	if err != nil || last.Made || last.ID != first.ID || last.Status != "READY" || f.count(submitRoute) != 1 {
		t.Errorf("waiting: %+v, %v, %d submitted", last, err, f.count(submitRoute))
	}
	wantFiles(t, dir, 0)
}

// TestNameOfWhatIsMade: a template that is being made has its name to itself.
func TestNameOfWhatIsMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, c := newFake(t, map[string][]string{listRoute: {listed()}, submitRoute: {job("PENDING", "", 0)}})
	other := wanted(t)
	other.Memory = 1
	for _, s := range []Spec{wanted(t), other} {
		if _, err := register(t, c, dir, s, true); err != nil {
			t.Fatal(err)
		}
	}
	var names [2]string
	for i, body := range f.bodies {
		var sent struct{ Alias string }
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		names[i] = sent.Alias
	}
	if names[0] != "hermes-studio" || names[1] == names[0] || !Named(names[1], names[0]) {
		t.Errorf("names %q", names)
	}
}

// TestJoinNot: what is no running job of the same template does not hinder another.
func TestJoinNot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer string
		change func(*Client, *Spec)
		says   string
	}{
		{"failed", job("FAILED", "PULLING", 100), nil, ""},
		{"deleted", refused(130593, "record not found"), nil, ""},
		{"another spec", "", func(_ *Client, s *Spec) { s.Memory = 1 }, ""},
		{"stands still", job("PENDING", "", 0), func(c *Client, _ *Spec) { c.Patience = time.Nanosecond }, "the job of template tpl-new stands still in PENDING; making another"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f, c := newFake(t, map[string][]string{listRoute: {listed()}, submitRoute: {job("PENDING", "", 0)}, jobRoute: {tt.answer}})
			if _, err := register(t, c, dir, wanted(t), true); err != nil {
				t.Fatal(err)
			}
			s := wanted(t)
			if tt.change != nil {
				tt.change(c, &s)
			}
			got, err := register(t, c, dir, s, true)
			if err != nil || !got.Made || f.count(submitRoute) != 2 || !strings.Contains(strings.Join(f.notes, "\n"), tt.says) {
				t.Errorf("%+v, %v, %d submitted, said %q", got, err, f.count(submitRoute), f.notes)
			}
		})
	}
}

// TestJoinStuck: who joins a job does not wait once more for as long as Patience.
func TestJoinStuck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, c := newFake(t, map[string][]string{listRoute: {listed()}, submitRoute: {job("PENDING", "", 0)}, jobRoute: {job("PENDING", "", 0)}})
	if _, err := register(t, c, dir, wanted(t), true); err != nil {
		t.Fatal(err)
	}
	c.Patience = time.Hour
	hold(t, c, dir)
	for digest, p := range c.Held.jobs {
		p.Since = time.Now().Add(300*time.Millisecond - c.Patience)
		if err := c.Held.keep(digest, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Held.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := register(t, c, dir, wanted(t), false)
	var stuck *JobError
	if !errors.As(err, &stuck) || !stuck.Stuck {
		t.Errorf("waiting for a job that stands still: %v", err)
	}
	wantFiles(t, dir, 0)
}

// TestForgotten: a job that has ended is not remembered, however it ended.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"ready": job("READY", "READY", 100), "failed": job("FAILED", "PULLING", 100)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, c := newFake(t, map[string][]string{listRoute: {listed()}, submitRoute: {job("PENDING", "", 0)}, jobRoute: {end}})
			_, err := register(t, c, dir, wanted(t), false)
			var failed *JobError
			if (err != nil) != (name == "failed") || err != nil && !errors.As(err, &failed) {
				t.Errorf("register: %v", err)
			}
			wantFiles(t, dir, 0)
		})
	}
}

// TestPendingBroken: a memory that cannot be read is none.
func TestPendingBroken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, c := newFake(t, map[string][]string{listRoute: {listed()}, submitRoute: {job("PENDING", "", 0)}})
	hold(t, c, dir)
	path := c.Held.file.Name()
	if err := c.Held.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{", "null", "[]", `{"sha256:x":{"since":"2020-01-01T00:00:00Z"}}`} {
		if err := os.WriteFile(filepath.Clean(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		hold(t, c, dir)
		if len(c.Held.jobs) > 0 {
			t.Errorf("%s: %v", text, c.Held.jobs)
		}
		if err := c.Held.Close(); err != nil {
			t.Error(err)
		}
	}
	if got, err := register(t, c, dir, wanted(t), true); err != nil || !got.Made || f.count(submitRoute) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzReadPending wants every file of a lock to be read or forgotten.
func FuzzReadPending(f *testing.F) {
	for _, seed := range []string{"", "null", "{", `{"sha256:a":{"template":"t","job":"j","since":"2999-01-01T00:00:00Z"}}`, `{"a":null}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if readPending(strings.NewReader(text)) == nil {
			t.Errorf("%q gives no map to write to", text)
		}
	})
}
