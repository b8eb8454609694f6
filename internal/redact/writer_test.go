package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hermesbox/hermesbox/internal/redact"
)

func TestWriterHoldsBackOnlyBeginnings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := redact.New("sk-123456").Writer(&out)
	steps := []struct{ write, want string }{
		{"login: ", "login: "},
		{"s", "login: "},
		{"o", "login: so"},
		{" sk-12", "login: so "},
		{"3456", "login: so ***"},
		{"!", "login: so ***!"},
		{"sk-", "login: so ***!"},
	}
	for _, step := range steps {
		if n, err := w.Write([]byte(step.write)); n != len(step.write) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", step.write, n, err)
		}
		if got := out.String(); got != step.want {
			t.Fatalf("after %q: %q, want %q", step.write, got, step.want)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "login: so ***!sk-"; got != want {
		t.Errorf("after Close: %q, want %q", got, want)
	}
}

func TestWriterLearnsLater(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := redact.New()
	w := r.Writer(&out)
	if _, err := w.Write([]byte("hunter22 ")); err != nil {
		t.Fatal(err)
	}
	r.Add("hunter22")
	if _, err := w.Write([]byte("hunter22")); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "hunter22 ***"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriterAfterClose(t *testing.T) {
	t.Parallel()
	w := redact.New().Writer(&bytes.Buffer{})
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close: %v, want os.ErrClosed", err)
	}
}

// broken refuses every write.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrPermission }

func TestWriterPassesErrorsOn(t *testing.T) {
	t.Parallel()
	w := redact.New("abcd").Writer(broken{})
	if _, err := w.Write([]byte("x")); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Write: %v, want permission denied", err)
	}
	w = redact.New("abcd").Writer(broken{})
	if _, err := w.Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Close: %v, want permission denied", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := redact.New("secret-0")
	w := r.Writer(&out)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				r.Add("secret-1")
				if _, err := w.Write([]byte("secret-0 secret-1\n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "secret") || strings.Count(out.String(), "\n") != 400 {
		t.Errorf("got %q", out.String())
	}
}

// TestManyBackslashes would take years if readings were tried one by one.
func TestManyBackslashes(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat(`\`, 60) + "x"
	got := redact.New(secret).String(strings.Repeat(`\`, 119) + "y")
	if want := strings.Repeat(`\`, 119) + "y"; got != want {
		t.Errorf("got %q", got)
	}
}

// forms are the encodings that must not survive, each in its usual maker.
func forms(t *testing.T, secret string) []string {
	t.Helper()
	inJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if strings.ToValidUTF8(secret, "") == secret {
		all = append(all, string(inJSON[1:len(inJSON)-1]))
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, enc.EncodeToString([]byte(secret)))
	}
	return all
}

// FuzzWriter checks that no form of a secret survives any chunking, and that
// chunks come out as the whole text would.
func FuzzWriter(f *testing.F) {
	f.Add("sk-123456", "before ", " after", 3, 0)
	f.Add(`a\"b%25`, `\`, "%2", 1, 2)
	f.Add("aaab", "aaa", "aab", 2, 5)
	f.Add("p@ss", "http://user:", "@host", 5, 1)
	f.Add("\x00\xff\xfe\xfd", "\n", "é", 7, 3)
	f.Fuzz(func(t *testing.T, secret, before, after string, size, form int) {
		secret = strings.TrimSpace(secret)
		if len(secret) < 4 || strings.Contains(secret, "*") || len(secret)+len(before)+len(after) > 4096 {
			t.Skip("no secret that must be masked, or too long")
		}
		all := forms(t, secret)
		text := before + all[int(uint(form)%uint(len(all)))] + after
		r := redact.New(secret)
		var out bytes.Buffer
		w := r.Writer(&out)
		step := int(uint(size)%16) + 1
		for rest := []byte(text); len(rest) > 0; {
			n := min(step, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), r.String(text); got != want {
			t.Fatalf("in chunks of %d: %q\nwhole: %q", step, got, want)
		}
		for _, left := range all {
			if strings.Contains(out.String(), left) {
				t.Fatalf("%q survives in %q", left, out.String())
			}
		}
	})
}

// FuzzAlignments checks base64 of a longer text that holds the secret.
func FuzzAlignments(f *testing.F) {
	f.Add("secret-1", "u:", "\n")
	f.Add("\xff\xfe\xfd\xfc\xfb", "", "x")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		secret = strings.TrimSpace(secret)
		if len(secret) < 6 || strings.Contains(before+after, secret) {
			t.Skip("no secret of a length that cannot come by chance")
		}
		text := base64.StdEncoding.EncodeToString([]byte(before + secret + after))
		got := redact.New(secret).String(text)
		if !strings.Contains(got, redact.Mask) {
			t.Fatalf("%q is not masked in %q", secret, got)
		}
	})
}
