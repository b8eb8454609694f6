package sshdial_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// listen answers every connection with do, and gives the address.
func listen(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			do(conn)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func TestReach(t *testing.T) {
	t.Parallel()
	to := func(target string) func(*testing.T, *scene) {
		return func(_ *testing.T, s *scene) { s.target = target }
	}
	answer := func(do func(net.Conn)) func(*testing.T, *scene) {
		return func(t *testing.T, s *scene) { s.target = listen(t, do) }
	}
	tests := []contest{
		{name: "nothing listens", want: "refused", prepare: to("127.0.0.1:1"), text: []string{"connect to host 127.0.0.1 port 1: connection refused"}},
		{name: "no such name", want: "no such host", prepare: to("nosuchhost.invalid"), text: []string{"could not resolve hostname nosuchhost.invalid"}},
		{name: "a slow server", options: sshtest.Options{Delay: time.Minute}, want: "timed out", prepare: func(t *testing.T, s *scene) { s.SetConfig(t, "ConnectTimeout 1\n") }, text: []string{"connection to host 127.0.0.1 port", "timed out"}},
		{name: "a server that is slow in time", options: sshtest.Options{Delay: time.Second}, want: "in"},
		{name: "hangs up", want: "closed", prepare: answer(func(c net.Conn) { c.Close() }), text: []string{"connection closed by 127.0.0.1 port"}},
		{name: "hangs up after its greeting", want: "closed", prepare: answer(func(c net.Conn) {
			_, _ = fmt.Fprint(c, "SSH-2.0-x\r\n")
			c.Close()
		})},
		{name: "no algorithm in common", options: sshtest.Options{HostKeys: []string{"rsa"}, Config: "HostKeyAlgorithms ssh-rsa"}, want: "not ssh", text: []string{"unable to negotiate with", "ssh-rsa"}},
		{name: "ssh_config names the server", want: "in", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, fmt.Sprintf("Host node\nHostName %s\nPort %d\nUser %s\n", s.Host, s.Port, s.User))
			s.target = "node"
		}},
		{name: "a family that the address is not of", want: "?", prepare: func(t *testing.T, s *scene) { s.SetConfig(t, "AddressFamily inet6\n") }},
		{name: "bound to an address", want: "in", prepare: func(t *testing.T, s *scene) { s.SetConfig(t, "AddressFamily inet\nBindAddress 127.0.0.3\n") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.want == "?" {
				test.want = "other"
				s := &scene{Server: sshtest.Start(t, test.options)}
				s.target = s.Target()
				test.prepare(t, s)
				if got, err := s.ours(t); got != test.want {
					t.Errorf("%s, %v", got, err)
				}
				return
			}
			test.run(t)
		})
	}
}

// What answers with something else than SSH is named, and never waited for
// longer than the time.
func TestReachNotSSH(t *testing.T) {
	t.Parallel()
	for name, greeting := range map[string]string{
		"HTTP":            "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
		"endless":         strings.Repeat("x", 1<<20),
		"binary":          "\x16\x03\x01\x02\x00\x01\x00",
		"another version": "SSH-1.5-old\r\n",
		"a broken packet": "SSH-2.0-x\r\n\xff\xff\xff\xff\xff",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := listen(t, func(c net.Conn) {
				_, _ = fmt.Fprint(c, greeting)
				c.Close()
			})
			d := sshdial.Dialer{Timeout: 5 * time.Second}
			_, err := d.Dial(t.Context(), addr)
			var unreachable *sshdial.UnreachableError
			if !errors.As(err, &unreachable) || unreachable.Cause != sshdial.NotSSH && unreachable.Cause != sshdial.Closed {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestReachInterrupted(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{Delay: time.Minute})
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user stopped it")
	timer := time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
	defer timer.Stop()
	d := sshdial.Dialer{Getenv: s.Getenv}
	start := time.Now()
	_, err := d.Dial(ctx, s.Target())
	if !errors.Is(err, stop) || time.Since(start) > 5*time.Second {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
}

func TestReachBadInput(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	d := sshdial.Dialer{Getenv: s.Getenv}
	var target *sshdial.TargetError
	if _, err := d.Dial(t.Context(), "root@"); !errors.As(err, &target) {
		t.Errorf("error %v", err)
	}
	s.SetConfig(t, "Prot 22\n")
	var config *sshdial.ConfigError
	if _, err := d.Dial(t.Context(), s.Target()); !errors.As(err, &config) || s.Connections() != 0 {
		t.Errorf("error %v after %d connections", err, s.Connections())
	}
}

// A jump host has its own names, keys and errors.
func TestJump(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		jump sshtest.Options
		// config is of the client; JUMP and NODE are the servers.
		config  string
		prepare func(t *testing.T, jump, node *sshtest.Server)
		want    string
		text    []string
	}{
		{name: "by address", config: "Host node\nProxyJump JUMP\n", want: "in"},
		{name: "by alias", config: "Host node\nProxyJump gate\nHost gate\nHostName 127.0.0.1\nPort JPORT\n", want: "in"},
		{name: "for all", config: "ProxyJump gate\nHost gate\nHostName 127.0.0.1\nPort JPORT\n", want: "in"},
		{name: "twice", config: "Host node\nProxyJump JUMP,JUMP\n", want: "in"},
		{name: "one behind the other", config: "Host node\nProxyJump gate\nHost gate\nHostName 127.0.0.1\nPort JPORT\nProxyJump JUMP\nHost *\n", want: "in"},
		{
			name: "an unknown jump host", config: "Host node\nProxyJump JUMP\n", want: "unknown",
			prepare: func(t *testing.T, jump, node *sshtest.Server) {
				node.SetKnownHosts(t, node.Name()+" "+node.HostKeys["ed25519"].Line+"\n")
			},
			text: []string{"connecting to jump host", "no ED25519 host key is known"},
		},
		{
			name: "an unknown host behind", config: "Host node\nProxyJump JUMP\n", want: "unknown",
			prepare: func(t *testing.T, jump, node *sshtest.Server) {
				node.SetKnownHosts(t, jump.Name()+" "+jump.HostKeys["ed25519"].Line+"\n")
			},
		},
		{
			name: "a jump host that refuses", config: "Host node\nProxyJump JUMP\n", want: "denied",
			prepare: func(t *testing.T, jump, _ *sshtest.Server) { put(t, jump.AuthorizedKeys(), "", 0o644) },
			text:    []string{"connecting to jump host", "permission denied"},
		},
		{name: "no forwarding", jump: sshtest.Options{Config: "AllowTcpForwarding no"}, config: "Host node\nProxyJump JUMP\n", want: "forbidden", text: []string{"the jump host does not forward"}},
		{name: "nothing listens behind", config: "Host node\nProxyJump JUMP\nPort 1\n", want: "refused", text: []string{"connect to host 127.0.0.1 port 1"}},
		{name: "no such name behind", config: "Host node\nProxyJump JUMP\nHostName nosuchhost.invalid\n", want: "no such host"},
		{name: "nothing listens at the jump host", config: "Host node\nProxyJump 127.0.0.1:1\n", want: "refused", text: []string{"connecting to jump host 127.0.0.1:1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			jump, node := sshtest.Start(t, test.jump), sshtest.Start(t, sshtest.Options{})
			s := &scene{Server: node, target: "node"}
			// One client for both.
			put(t, jump.AuthorizedKeys(), read(t, node.AuthorizedKeys()), 0o644)
			node.SetKnownHosts(t, read(t, node.KnownHosts())+read(t, jump.KnownHosts()))
			gate := fmt.Sprintf("%s:%d", jump.Host, jump.Port)
			config := strings.NewReplacer("JUMP", gate, "JPORT", fmt.Sprint(jump.Port)).Replace(test.config)
			node.SetConfig(t, config+fmt.Sprintf("Host node\nHostName 127.0.0.1\nPort %d\n", node.Port))
			if test.prepare != nil {
				test.prepare(t, jump, node)
			}
			got, err := s.ours(t)
			if got != test.want {
				t.Fatalf("%s (%v), want %s", got, err, test.want)
			}
			for _, text := range test.text {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %v does not say %q", err, text)
				}
			}
			if test.want == "in" && jump.Connections() == 0 {
				t.Error("the jump host was passed by")
			}
		})
	}
}

// A chain that is stuck or slow anywhere ends with the time.
func TestJumpStuck(t *testing.T) {
	t.Parallel()
	for name, stuck := range map[string]bool{"the node": false, "the jump host": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jump, node := sshtest.Start(t, sshtest.Options{}), sshtest.Start(t, sshtest.Options{Delay: time.Minute})
			put(t, jump.AuthorizedKeys(), read(t, node.AuthorizedKeys()), 0o644)
			node.SetKnownHosts(t, read(t, node.KnownHosts())+read(t, jump.KnownHosts()))
			node.SetConfig(t, fmt.Sprintf("Host gate\nHostName 127.0.0.1\nPort %d\nConnectTimeout 20\nHost node\nHostName 127.0.0.1\nPort %d\nProxyJump gate\nConnectTimeout 2\n", jump.Port, node.Port))
			done := make(chan struct{})
			defer func() { <-done }()
			go func() {
				defer close(done)
				for range 1000 {
					if node.Connections() > 0 && stuck {
						jump.Freeze()
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			}()
			d := sshdial.Dialer{Getenv: node.Getenv}
			start := time.Now()
			_, err := d.Dial(t.Context(), "node")
			var reach *sshdial.UnreachableError
			if !errors.As(err, &reach) || reach.Cause != sshdial.TimedOut || time.Since(start) > 15*time.Second {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
		})
	}
}

func TestJumpLoop(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	s.SetConfig(t, "Host a\nHostName 127.0.0.1\nProxyJump b\nHost b\nHostName 127.0.0.2\nProxyJump a\n")
	d := sshdial.Dialer{Getenv: s.Getenv}
	want := s.ConfigFile() + ":3: ProxyJump: the jump hosts lead back to themselves"
	if _, err := d.Dial(t.Context(), "a"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	s.SetConfig(t, "Host a\nProxyJump b\nHost b\nPort 3\nProxyCommand x\n")
	var config *sshdial.ConfigError
	if _, err := d.Dial(t.Context(), "a"); !errors.As(err, &config) {
		t.Errorf("error %v", err)
	}
}
