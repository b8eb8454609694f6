package cubeproxy

import (
	"net/url"
	"sync"
)

const bufferSize = 256 << 10

// pool lends copy buffers.
type pool struct{ p sync.Pool }

func newPool() *pool {
	return &pool{sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}}
}

// Get lends a buffer.
func (p *pool) Get() []byte {
	b, _ := p.p.Get().(*[]byte) // New makes nothing else
	return *b
}

// Put takes it back.
func (p *pool) Put(b []byte) { p.p.Put(&b) }

// unescaped is the decoded path; what cannot be decoded stays.
func unescaped(path string) string {
	if out, err := url.PathUnescape(path); err == nil {
		return out
	}
	return path
}
