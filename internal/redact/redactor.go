package redact

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// minLength is the shortest value that is masked by value. Masking shorter
// ones would blank every "1" or "no" of a text and so tell what they are;
// they are masked by name alone.
const minLength = 4

// Redactor masks the values it was told of. The zero value knows none and
// masks the userinfo of addresses alone. It is safe for concurrent use.
type Redactor struct {
	mu    sync.Mutex
	known []string
	index atomic.Pointer[index]
}

// index finds the patterns that a byte can begin.
type index [256][]string

// New returns a Redactor of these secrets.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		r.Add(s)
	}
	return r
}

// Add makes value a secret from now on, for Writers already made too. White
// space around it is no part of it. Of a value of several lines each line of
// eight bytes or more is a secret of its own, since logs print line by line.
// Values shorter than four bytes are ignored.
func (r *Redactor) Add(value string) {
	value = strings.TrimSpace(value)
	r.add(value)
	lines := strings.Split(value, "\n")
	if len(lines) == 1 {
		return
	}
	for _, line := range lines {
		if line = strings.TrimSpace(line); len(line) >= 8 {
			r.add(line)
		}
	}
}

// add puts a secret and its base64 forms into a new index.
func (r *Redactor) add(secret string) {
	if len(secret) < minLength {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.known, secret) {
		return
	}
	r.known = append(r.known, secret)
	next := &index{}
	if old := r.index.Load(); old != nil {
		*next = *old
	}
	for _, p := range append(base64Forms(secret), secret) {
		for _, b := range beginnings(p) {
			next[b] = append(slices.Clone(next[b]), p)
		}
	}
	r.index.Store(next)
}

// String masks the secrets in s.
func (r *Redactor) String(s string) string {
	var m masker
	out, _ := m.mask(r.index.Load(), nil, []byte(s), true)
	return string(out)
}

// URL masks the userinfo of every address in s: all of it in http, https,
// ftp and ftps addresses, where a lone user name may be a token; in others,
// such as ssh://root@host, the password alone.
func URL(s string) string { return new(Redactor).String(s) }
