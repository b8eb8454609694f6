package egress

import (
	"io"
	"net"
	"testing"
)

// BenchmarkReply is the proxy's side of a busy sandbox: what it sends in answer
// to a connection from the host, with and without rules.
func BenchmarkReply(b *testing.B) {
	for _, bench := range []struct {
		name  string
		apply bool
	}{{"without rules", false}, {"with rules", true}} {
		b.Run(bench.name, func(b *testing.B) {
			w := newWorld(b)
			s, target := w.sandbox(b)
			if bench.apply {
				mustApply(b, target, Rules{Internet: true, Allow: prefixes("192.168.77.0/24")})
			}
			listener := listenIn(b, s, ":80")
			go func() {
				if c, err := listener.Accept(); err == nil {
					pour(c)
				}
			}()
			c := dialFrom(b, w.host, target.Address.String()+":80")
			chunk := make([]byte, 1<<20)
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				if _, err := io.ReadFull(c, chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkConnect opens and closes connections to a sandbox.
func BenchmarkConnect(b *testing.B) {
	for _, bench := range []struct {
		name  string
		apply bool
	}{{"without rules", false}, {"with rules", true}} {
		b.Run(bench.name, func(b *testing.B) {
			w := newWorld(b)
			s, target := w.sandbox(b)
			if bench.apply {
				mustApply(b, target, Rules{})
			}
			echo(b, s, target.Address.String())
			w.host.Do(b, func() error {
				for b.Loop() {
					c, err := net.Dial("tcp", target.Address.String()+":7")
					if err != nil {
						return err
					}
					if err := exchange(c, []byte("x"), enough); err != nil {
						return err
					}
					if err := c.Close(); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// pour writes until the other side has enough.
func pour(c net.Conn) {
	chunk := make([]byte, 1<<20)
	for {
		if _, err := c.Write(chunk); err != nil {
			return
		}
	}
}
