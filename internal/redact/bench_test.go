package redact_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// BenchmarkWriter masks a build log with five secrets known.
func BenchmarkWriter(b *testing.B) {
	log := bytes.Repeat([]byte("#12 34.56 Downloading https://example.com/packages/wheel-1.2.3.whl (12.3 MB)\n"), 1000)
	w := redact.New("sk-0123456789abcdef", "npm_abcdef012345", "hunter22", "e2b_000000", "p@ss w/rd").Writer(io.Discard)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if _, err := w.Write(log); err != nil {
			b.Fatal(err)
		}
	}
}
