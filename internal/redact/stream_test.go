package redact_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesbox/hermesbox/internal/redact"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	const secret = "sk-123456"
	for _, test := range []struct {
		name     string
		kind     redact.Kind
		in, want string
		masked   int
	}{
		{"text", redact.Kind{}, "a sk-123456 http://u:p@h\x00 sk-123456", "a *** http://***@h\x00 ***", 3},
		{"no NUL yet", redact.Kind{Binary: true}, "a sk-123456 http://u:p@h b", "a *** http://***@h b", 2},
		{"behind a NUL", redact.Kind{Binary: true}, "a sk-123456\x00 sk-123456 http://u:p@h", "a ***\x00 ********* http://u:p@h", 2},
		{"NUL in an address", redact.Kind{Binary: true}, "http://u:p\x00x@h", "http://u:p\x00x@h", 0},
		{"screen", redact.Kind{Screen: true}, "\x1b[1msk-123456\x1b[m http://u:p@h", "\x1b[1m*********\x1b[m http://***@h", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(test.in); size++ {
				var out bytes.Buffer
				s := redact.New(secret).Stream(&out, test.kind)
				for rest := test.in; rest != ""; {
					n := min(size, len(rest))
					if _, err := s.Write([]byte(rest[:n])); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if got := out.String(); got != test.want || s.Masked() != test.masked {
					t.Fatalf("in chunks of %d: %q, masked %d; want %q, %d", size, got, s.Masked(), test.want, test.masked)
				}
			}
		})
	}
}

// locked is a buffer that a timer may write to.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// TestPatience: a key that begins a secret shows up, a secret in two pieces does not.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out locked
		s := redact.New("sk-1234567890").Stream(&out, redact.Kind{Patience: 20 * time.Millisecond})
		for _, step := range []struct {
			write string
			after time.Duration
			want  string
		}{
			{"$ s", 10 * time.Millisecond, "$ "},
			{"", 11 * time.Millisecond, "$ s"},
			{"ls sk-", 19 * time.Millisecond, "$ sls "},
			{"1234", 19 * time.Millisecond, "$ sls "}, // each write begins the wait anew
			{"56", 300 * time.Millisecond, "$ sls "},
			{"7890\n", 0, "$ sls ***\n"},
			{"sk-123456", 500 * time.Millisecond, "$ sls ***\nsk-123456"},
			{"7890!", 0, "$ sls ***\nsk-123456***!"},
			{"http://u:pass", 500 * time.Millisecond, "$ sls ***\nsk-123456***!http://u:pass"},
			{"word@h ", 0, "$ sls ***\nsk-123456***!http://u:pass***@h "},
		} {
			if step.write != "" {
				if _, err := s.Write([]byte(step.write)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(step.after)
			synctest.Wait()
			if got := out.String(); got != step.want {
				t.Fatalf("%s after %q: %q, want %q", step.after, step.write, got, step.want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestPatienceTellsLater: a write that nobody waited for fails the next one.
func TestPatienceTellsLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redact.New("abcd").Stream(broken{}, redact.Kind{Patience: time.Millisecond})
		if _, err := s.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := s.Write([]byte("a")); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("Write: %v", err)
		}
	})
}
