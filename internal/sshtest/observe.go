package sshtest

import (
	"bytes"
	"os"
	"testing"
)

// Connections is how many connections were made so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wires)
}

// Execs is how many commands were started so far.
func (s *Server) Execs(t testing.TB) int {
	t.Helper()
	return bytes.Count([]byte(s.Log(t)), []byte("Starting session: "))
}

// Log is what sshd logged so far.
func (s *Server) Log(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Cut cuts all connections, as a network that goes away does; new ones can be
// made.
func (s *Server) Cut() { s.each((*wire).end) }

// Freeze keeps all connections open and lets nothing more pass.
func (s *Server) Freeze() {
	s.each(func(w *wire) {
		w.gate.mu.Lock()
		defer w.gate.mu.Unlock()
		w.gate.frozen = true
	})
}

func (s *Server) each(do func(*wire)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wires {
		do(w)
	}
}

func (s *Server) close(t testing.TB) {
	_ = s.listener.Close()
	s.Cut()
	s.work.Wait()
	if t.Failed() {
		t.Logf("log of sshd at %s:\n%s", s.Name(), s.Log(t))
	}
}
