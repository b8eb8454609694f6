package sshdial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// How a connection that was made can end before a command does.
var (
	// ErrClosed: before the command started; it does not run.
	ErrClosed = errors.New("connection lost")
	// ErrLost: while it ran; it may still be running.
	ErrLost = errors.New("connection lost, the command may still be running")
)

// A Cause is why a server was not reached.
type Cause string

// The causes of an UnreachableError.
const (
	Refused    Cause = "refused"      // nothing listens there
	TimedOut   Cause = "timed out"    // no answer in time
	NoSuchHost Cause = "no such host" // the name does not resolve
	Closed     Cause = "closed"       // the server hung up before it authenticated anyone
	NotSSH     Cause = "not ssh"      // what answers does not speak SSH, or shares no algorithm
	Forbidden  Cause = "forbidden"    // the jump host does not forward
	Other      Cause = "other"
)

// UnreachableError is a server that no SSH connection could be made to. Nothing
// was authenticated and nothing ran.
type UnreachableError struct {
	Host  string
	Port  int
	Cause Cause
	Err   error
}

// Error says what OpenSSH would say.
func (e *UnreachableError) Error() string {
	switch {
	case e.Cause == NoSuchHost:
		return fmt.Sprintf("could not resolve hostname %s: %v", e.Host, plainCause(e.Err))
	case errors.Is(e.Err, errSlow):
		return fmt.Sprintf("connection to host %s port %d: %v", e.Host, e.Port, e.Err)
	case e.Cause == TimedOut:
		return fmt.Sprintf("connect to host %s port %d: connection timed out", e.Host, e.Port)
	case e.Cause == Closed:
		return fmt.Sprintf("connection closed by %s port %d", e.Host, e.Port)
	case e.Cause == NotSSH:
		return fmt.Sprintf("unable to negotiate with %s port %d: %v", e.Host, e.Port, plainCause(e.Err))
	}
	return fmt.Sprintf("connect to host %s port %d: %v", e.Host, e.Port, plainCause(e.Err))
}

// Unwrap gives what was seen.
func (e *UnreachableError) Unwrap() error { return e.Err }

// plainCause is the innermost error: the outer ones repeat the address.
func plainCause(err error) error {
	var dns *net.DNSError
	var errno syscall.Errno
	var open *ssh.OpenChannelError
	switch {
	case errors.As(err, &open) && open.Reason == ssh.Prohibited:
		return fmt.Errorf("the jump host does not forward: %s", open.Message)
	case errors.As(err, &open):
		return fmt.Errorf("the jump host says: %s", open.Message)
	case errors.As(err, &dns):
		return errors.New(dns.Err)
	case errors.As(err, &errno):
		return errno
	}
	return err
}

// unreachable names why err kept a connection from being made.
func unreachable(host string, port int, err error) *UnreachableError {
	return &UnreachableError{Host: host, Port: port, Cause: causeOf(err), Err: err}
}

func causeOf(err error) Cause {
	var dns *net.DNSError
	var negotiation *ssh.AlgorithmNegotiationError
	var open *ssh.OpenChannelError
	switch {
	case errors.As(err, &open):
		return openCause(open)
	case errors.As(err, &negotiation):
		return NotSSH
	case errors.As(err, &dns) && dns.IsNotFound:
		return NoSuchHost
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, errSlow), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return TimedOut
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return Closed
	case strings.Contains(err.Error(), "overflow reading version string"), strings.Contains(err.Error(), "invalid packet length"):
		return NotSSH
	}
	return Other
}

// openCause reads the answer of a jump host's sshd, which puts the reason in words.
func openCause(err *ssh.OpenChannelError) Cause {
	switch {
	case err.Reason == ssh.Prohibited:
		return Forbidden
	case strings.Contains(err.Message, "refused"):
		return Refused
	case strings.Contains(err.Message, "timed out"):
		return TimedOut
	case strings.Contains(err.Message, "not known"), strings.Contains(err.Message, "resolution"):
		return NoSuchHost
	}
	return Other
}
