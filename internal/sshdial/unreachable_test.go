package sshdial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
)

func TestCauses(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	open := func(reason ssh.RejectionReason, text string) error {
		return &ssh.OpenChannelError{Reason: reason, Message: text}
	}
	tests := []struct {
		err  error
		want Cause
		text string
	}{
		{dial(syscall.ECONNREFUSED), Refused, "connect to host h port 22: connection refused"},
		{dial(syscall.ETIMEDOUT), TimedOut, "connect to host h port 22: connection timed out"},
		{context.DeadlineExceeded, TimedOut, "connect to host h port 22: connection timed out"},
		{errSlow, TimedOut, "connection to host h port 22: connection timed out"},
		{dial(syscall.EHOSTUNREACH), Other, "connect to host h port 22: no route to host"},
		{dial(syscall.ENETUNREACH), Other, "connect to host h port 22: network is unreachable"},
		{&net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}, NoSuchHost, "could not resolve hostname h: no such host"},
		{&net.DNSError{Err: "server misbehaving", Name: "h"}, Other, "connect to host h port 22: server misbehaving"},
		{fmt.Errorf("reading: %w", io.EOF), Closed, "connection closed by h port 22"},
		{syscall.ECONNRESET, Closed, "connection closed by h port 22"},
		{&ssh.AlgorithmNegotiationError{}, NotSSH, "unable to negotiate with h port 22: "},
		{open(ssh.Prohibited, "open failed"), Forbidden, "connect to host h port 22: the jump host does not forward: open failed"},
		{open(ssh.ConnectionFailed, "Connection refused"), Refused, "connect to host h port 22: the jump host says: Connection refused"},
		{open(ssh.ConnectionFailed, "Connection timed out"), TimedOut, "connect to host h port 22: connection timed out"},
		{open(ssh.ConnectionFailed, "Name or service not known"), NoSuchHost, "could not resolve hostname h: the jump host says: Name or service not known"},
		{open(ssh.ConnectionFailed, "Temporary failure in name resolution"), NoSuchHost, "could not resolve hostname h: the jump host says: Temporary failure in name resolution"},
		{open(ssh.ConnectionFailed, "No route to host"), Other, "connect to host h port 22: the jump host says: No route to host"},
	}
	for _, test := range tests {
		got := unreachable("h", 22, test.err)
		if got.Cause != test.want || !errors.Is(got, test.err) {
			t.Errorf("%v: %s, want %s", test.err, got.Cause, test.want)
		}
		if text := got.Error(); text != test.text && (test.want != NotSSH || text[:len(test.text)] != test.text) {
			t.Errorf("%v: %q, want %q", test.err, text, test.text)
		}
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, &net.OpError{Op: "write", Err: syscall.ECONNRESET}, &net.OpError{Op: "write", Err: syscall.EPIPE},
	} {
		if got := gone(err, ErrClosed); !errors.Is(got, ErrClosed) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if odd := errors.New("odd"); !errors.Is(gone(odd, ErrClosed), odd) {
		t.Error("any error is a connection that is lost")
	}
}

func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	odd := errors.New("odd")
	if _, err := outcome(odd); !errors.Is(err, odd) {
		t.Errorf("error %v", err)
	}
}

func TestRefusesKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		methods []string
		want    bool
	}{
		{nil, false},
		{[]string{"password", "keyboard-interactive"}, true},
		{[]string{"password", "publickey"}, false},
	} {
		if got := (&AuthError{Methods: test.methods}).RefusesKeys(); got != test.want {
			t.Errorf("%q: %v", test.methods, got)
		}
	}
}
