package cubeproxy

import (
	"bufio"
	"io"
	"net"
)

// handed is a connection of which something was read already. Large answers
// still go to it by the kernel: it has TCPConn's ReadFrom.
type handed struct {
	*net.TCPConn
	in *bufio.Reader
}

// Read gives what was read before, then what comes.
func (h *handed) Read(p []byte) (int, error) {
	if h.in.Buffered() > 0 {
		return h.in.Read(p)
	}
	return h.TCPConn.Read(p)
}

// WriteTo is Read for io.Copy.
func (h *handed) WriteTo(w io.Writer) (int64, error) {
	early, err := io.CopyN(w, h.in, int64(h.in.Buffered()))
	if err != nil {
		return early, err
	}
	rest, err := io.Copy(w, h.TCPConn)
	return early + rest, err
}
