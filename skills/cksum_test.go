package skills

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestCksum compares with the tool that nodes use.
func TestCksum(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 3, 255, 256, 257, 65535, 65536, 1 << 20} {
		text := bytes.Repeat([]byte("hermes\x00\xff"), size/8+1)[:size]
		c := &cksum{}
		for _, part := range [][]byte{text[:size/3], text[size/3:]} {
			if n, err := c.Write(part); n != len(part) || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "cksum")
		cmd.Stdin = bytes.NewReader(text)
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.String(); got != strings.TrimSpace(string(want)) {
			t.Errorf("%d bytes: %s, want %s", size, got, want)
		}
	}
}
