package procs

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// frameBytes is the most output that one event holds, as in the real service.
const frameBytes = 32768

// source is one readable end of a process: a pipe or the master of a terminal.
type source struct {
	file *os.File
	wrap func([]byte) *process.ProcessEvent_DataEvent
}

func stdout(b []byte) *process.ProcessEvent_DataEvent {
	return &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: b}}
}

func stderr(b []byte) *process.ProcessEvent_DataEvent {
	return &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stderr{Stderr: b}}
}

func terminal(b []byte) *process.ProcessEvent_DataEvent {
	return &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Pty{Pty: b}}
}

// pump publishes what comes until all holders have closed the other end, or until cut.
func (s source) pump(out *fan) {
	buf := make([]byte, frameBytes)
	for {
		n, err := s.file.Read(buf)
		s.publish(out, buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.drain(out, buf)
			return
		}
		if err != nil {
			return
		}
	}
}

func (s source) publish(out *fan, b []byte) {
	if len(b) == 0 {
		return
	}
	data := s.wrap(append([]byte(nil), b...))
	out.publish(&process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: data}})
}

// cut ends the wait for other holders; what is already written is still published.
func (s source) cut() error {
	return s.file.SetReadDeadline(time.Now())
}

// drain reads what is there without waiting for more.
func (s source) drain(out *fan, buf []byte) {
	if s.file.SetReadDeadline(time.Time{}) != nil {
		return
	}
	conn, err := s.file.SyscallConn()
	if err != nil {
		return
	}
	for {
		n := 0
		err := conn.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), buf) // any error means that nothing more is there
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		s.publish(out, buf[:n])
	}
}
