package cubeproxy

import (
	"net"
	"testing"
	"time"
)

func TestIsQuiet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		do    func(far net.Conn) error
		quiet bool
	}{
		{"nothing", func(net.Conn) error { return nil }, true},
		{"data", func(far net.Conn) error { _, err := far.Write([]byte("HTTP/1.1 408 \r\n\r\n")); return err }, false},
		{"closed", net.Conn.Close, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			near, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			far, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _, _ = near.Close(), far.Close(), l.Close() })
			if err := test.do(far); err != nil {
				t.Fatal(err)
			}
			got := isQuiet(near)
			for end := time.Now().Add(5 * time.Second); got != test.quiet && time.Now().Before(end); got = isQuiet(near) {
				time.Sleep(10 * time.Millisecond)
			}
			if got != test.quiet {
				t.Errorf("%v, want %v", got, test.quiet)
			}
		})
	}
	if near, far := net.Pipe(); isQuiet(near) {
		t.Errorf("%v is trusted", far)
	}
}
