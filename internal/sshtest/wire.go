package sshtest

import (
	"io"
	"net"
	"os/exec"
	"sync"
	"time"
)

// wire is one connection and the sshd behind it.
type wire struct {
	conn net.Conn
	sshd *exec.Cmd
	gate *gate
}

// gate lets bytes pass, or holds them.
type gate struct {
	mu     sync.Mutex
	frozen bool
	over   chan struct{}
}

// pass tells whether bytes may go on; it waits while the gate is frozen.
func (g *gate) pass() bool {
	for {
		g.mu.Lock()
		frozen := g.frozen
		g.mu.Unlock()
		if !frozen {
			return true
		}
		select {
		case <-g.over:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (g *gate) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if !g.pass() {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// accept serves connections until the listener is closed.
func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		w := &wire{conn: conn, sshd: s.command(), gate: &gate{over: make(chan struct{})}}
		s.mu.Lock()
		s.wires = append(s.wires, w)
		s.mu.Unlock()
		s.work.Go(func() { w.serve(s.options.Delay) })
	}
}

// serve runs sshd for one connection until either side hangs up.
func (w *wire) serve(delay time.Duration) {
	defer func() { _ = w.conn.Close() }() // it may be cut already
	in, err := w.sshd.StdinPipe()
	if err != nil {
		return
	}
	out, err := w.sshd.StdoutPipe()
	if err != nil {
		return
	}
	select {
	case <-time.After(delay):
	case <-w.gate.over:
		return
	}
	if err := w.sshd.Start(); err != nil {
		return
	}
	var up sync.WaitGroup
	up.Go(func() {
		w.gate.copy(in, w.conn)
		_ = in.Close()
	})
	w.gate.copy(w.conn, out)
	_ = w.conn.Close()
	up.Wait()
	_ = w.sshd.Process.Kill()
	_ = w.sshd.Wait()
}

// end cuts the connection; what runs on the server sees it as a network that
// went away.
func (w *wire) end() {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	select {
	case <-w.gate.over:
	default:
		close(w.gate.over)
	}
	_ = w.conn.Close()
}
