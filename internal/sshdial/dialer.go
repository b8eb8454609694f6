package sshdial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	defaultTimeout   = 15 * time.Second
	defaultKeepAlive = 15 * time.Second
)

// Dialer is what connections have in common. Its zero value has no home
// directory but the system's, and no agent. It can be used by several
// goroutines, and must not be copied after its first use.
type Dialer struct {
	// Getenv gives HOME, SSH_AUTH_SOCK and the variables that ssh_config names;
	// nil is an empty environment.
	Getenv func(string) string
	// ConfigFile is read in place of ~/.ssh/config and /etc/ssh/ssh_config.
	ConfigFile string
	// AskPassphrase asks on a terminal; nil is no terminal: encrypted keys are
	// then not offered. It is called by one goroutine at a time, and once for
	// each key, up to three times where the answer is wrong; what it returns is
	// overwritten.
	AskPassphrase func(prompt string) ([]byte, error)
	// Timeout is for connecting to one server and authenticating there, without
	// the time that someone is asked; 15 s by default. ConnectTimeout goes before it.
	Timeout time.Duration
	// KeepAlive is how often a silent server is asked whether it lives; after
	// three unanswered the connection is lost. 15 s by default.
	// ServerAliveInterval and ServerAliveCountMax go before it.
	KeepAlive time.Duration

	ring keyring
}

// Dial connects to a target, through its jump hosts, and authenticates. The
// context ends the dialling, not the connection, which the caller closes.
// Errors are *TargetError, *ConfigError, *UnreachableError, *HostKeyError,
// *AuthError, and the context's cause; one of a jump host names it.
func (d *Dialer) Dial(ctx context.Context, target string) (*Conn, error) {
	t, err := ParseTarget(target)
	if err != nil {
		return nil, err
	}
	route, err := d.route(t)
	if err != nil {
		return nil, err
	}
	conn := &Conn{}
	for i, h := range route {
		client, err := d.connect(ctx, h.set, conn.clients)
		if err != nil {
			_ = conn.Close() // the error before it tells more
			if i < len(route)-1 {
				return nil, fmt.Errorf("connecting to jump host %s: %w", h.target, err)
			}
			return nil, err
		}
		conn.clients = append(conn.clients, client)
	}
	conn.start(route[len(route)-1].set)
	return conn, nil
}

// connect makes one connection of a chain, through those before it.
func (d *Dialer) connect(ctx context.Context, s *settings, before []*ssh.Client) (*ssh.Client, error) {
	keys, err := loadHostKeys(s)
	if err != nil {
		return nil, err
	}
	guard := newGuard(ctx, s.timeout)
	for _, client := range before {
		guard.watch(client) // one that is stuck would hold up what goes through it
	}
	wire, err := s.dial(guard.ctx, before)
	if err != nil {
		if cause := guard.done(); cause != nil {
			return nil, s.failed(ctx, cause)
		}
		return nil, unreachable(s.host, s.port, err)
	}
	guard.watch(wire)
	auth := d.newAuth(s, guard)
	defer auth.close()
	client, err := handshake(wire, s, keys, auth)
	cause := guard.done()
	if err == nil && cause == nil {
		return client, nil
	}
	_ = wire.Close() // nothing was written that counts
	return nil, s.explain(ctx, cause, err, auth)
}

// dial opens the wire, by itself or from the last jump host.
func (s *settings) dial(ctx context.Context, before []*ssh.Client) (net.Conn, error) {
	addr := net.JoinHostPort(s.host, strconv.Itoa(s.port))
	if len(before) > 0 {
		return before[len(before)-1].DialContext(ctx, "tcp", addr)
	}
	dialer := net.Dialer{KeepAlive: defaultKeepAlive}
	if s.bind.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: s.bind.AsSlice(), Zone: s.bind.Zone()}
	}
	return dialer.DialContext(ctx, s.network, addr)
}

func handshake(wire net.Conn, s *settings, keys *hostKeys, a *auth) (*ssh.Client, error) {
	config := &ssh.ClientConfig{
		Config: ssh.Config{KeyExchanges: s.algorithms.kex, Ciphers: s.algorithms.ciphers, MACs: s.algorithms.macs},
		User:   s.user, HostKeyCallback: keys.check, HostKeyAlgorithms: keys.algorithms(), AuthCallback: a.next,
	}
	conn, channels, requests, err := ssh.NewClientConn(wire, s.name(), config)
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(conn, channels, requests), nil
}

// explain finds what ended a handshake.
func (s *settings) explain(ctx context.Context, cause, err error, a *auth) error {
	var hostKey *HostKeyError
	switch {
	case cause != nil:
		return s.failed(ctx, cause)
	case errors.As(err, &hostKey):
		return hostKey
	}
	if refusal := a.refused(err); refusal != nil {
		return refusal
	}
	return unreachable(s.host, s.port, err)
}

// failed is the end of ctx, or of the time.
func (s *settings) failed(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("connecting to %s port %d: %w", s.host, s.port, context.Cause(ctx))
	}
	return unreachable(s.host, s.port, cause)
}
