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

// index finds the patterns that a text can begin with.
type index struct {
	// first lists those that a byte can begin.
	first [256][]pattern
	// pairs has a bit for each two bytes that can begin one. It saves most
	// texts most of the work.
	pairs [256][4]uint64
}

// begins tells whether a pattern can begin with these two bytes.
func (x *index) begins(a, b byte) bool { return x.pairs[a][b>>6]&(1<<(b&63)) != 0 }

// put makes the index know a pattern.
func (x *index) put(p pattern) {
	for _, a := range beginnings(p.text) {
		x.first[a] = append(slices.Clone(x.first[a]), p)
		if a != p.text[0] || a == '%' || a == '\\' || len(p.text) == 1 { // an escape, which goes on in many ways
			x.pairs[a] = [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
			continue
		}
		for _, b := range append(beginnings(p.text[1:]), '\r', '\n') {
			x.pairs[a][b>>6] |= 1 << (b & 63)
		}
	}
}

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
	next.put(pattern{text: secret})
	for _, form := range base64Forms(secret) {
		next.put(pattern{text: form, wraps: true})
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
