package sshtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// Options are how a server differs from a plain one.
type Options struct {
	// HostKeys are ed25519, ecdsa, rsa; one of ed25519 by default.
	HostKeys []string
	// Config are lines of sshd_config that go before the server's own.
	Config string
	// Certificate certifies the host keys.
	Certificate *Certificate
	// Users exist beside those of the machine; they need root.
	Users []User
	// Delay is how long the server says nothing.
	Delay time.Duration
}

// Server is an SSH server on loopback, and the home directory of a client that
// may log in there.
type Server struct {
	Host string
	Port int
	// User is who is logged in: the first of Options.Users, else the one who
	// runs the test.
	User string
	// Home is the client's: .ssh has config, known_hosts and id_ed25519.
	Home string
	// HostKeys are by type.
	HostKeys map[string]Key

	options  Options
	dir      string
	log      string
	program  string
	listener net.Listener

	mu    sync.Mutex
	wires []*wire
	work  sync.WaitGroup
}

// Start starts a server that ends with the test. Without sshd the test is
// skipped, or fails where it is required.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{Host: "127.0.0.1", Home: t.TempDir(), options: o, dir: t.TempDir(), HostKeys: map[string]Key{}}
	s.program = program(t)
	s.User = userName(t, o)
	s.log = filepath.Join(s.dir, "log")
	s.configure(t)
	var config net.ListenConfig
	var err error
	if s.listener, err = config.Listen(t.Context(), "tcp", s.Host+":0"); err != nil {
		t.Fatal(err)
	}
	s.Port = s.listener.Addr().(*net.TCPAddr).Port
	s.client(t)
	s.work.Go(s.accept)
	t.Cleanup(func() { s.close(t) })
	return s
}

// program finds sshd, which is rarely in the PATH of a user.
func program(t testing.TB) string {
	t.Helper()
	for _, path := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/opt/homebrew/sbin/sshd"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("sshd")
	if err != nil {
		dockertest.Missing(t, "sshd", err)
	}
	return path
}

func userName(t testing.TB, o Options) string {
	t.Helper()
	if len(o.Users) > 0 {
		if os.Getuid() != 0 {
			dockertest.Missing(t, "root", "a server with users of its own needs it")
		}
		return o.Users[0].Name
	}
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// configure writes what sshd reads.
func (s *Server) configure(t testing.TB) {
	t.Helper()
	kinds := s.options.HostKeys
	if len(kinds) == 0 {
		kinds = []string{"ed25519"}
	}
	var config strings.Builder
	config.WriteString(s.options.Config + "\n")
	for _, kind := range kinds {
		key := NewKey(t, kind)
		path := filepath.Join(s.dir, "host_"+kind)
		key.Write(t, path, "")
		s.HostKeys[kind] = key
		fmt.Fprintf(&config, "HostKey %s\n", path)
		if cert := s.options.Certificate; cert != nil {
			cert.Host = true
			cert.Write(t, key, path+"-cert.pub")
			fmt.Fprintf(&config, "HostCertificate %s\n", path+"-cert.pub")
		}
	}
	fmt.Fprintf(&config, "AuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nUseDNS no\nPidFile none\n", s.AuthorizedKeys())
	config.WriteString("KbdInteractiveAuthentication no\nPasswordAuthentication no\nLogLevel VERBOSE\nPrintMotd no\nX11Forwarding no\n")
	if len(s.options.Users) == 0 {
		// The start-up files of who runs the test are none of the test's.
		fmt.Fprintf(&config, "SetEnv HOME=%s\n", t.TempDir())
	}
	writeFile(t, s.config(), config.String(), 0o600)
	writeFile(t, s.log, "", 0o600)
	if err := os.Chmod(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.users(t)
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where sshd as root leaves its privileges
			t.Fatal(err)
		}
	}
}

func (s *Server) config() string { return filepath.Join(s.dir, "sshd_config") }

// AuthorizedKeys is the file of the keys that may log in.
func (s *Server) AuthorizedKeys() string { return filepath.Join(s.dir, "authorized_keys") }

// client makes the home of a client that knows the server and is known there.
func (s *Server) client(t testing.TB) {
	t.Helper()
	if err := os.Mkdir(s.path(""), 0o700); err != nil {
		t.Fatal(err)
	}
	key := NewKey(t, "ed25519")
	key.Write(t, s.path("id_ed25519"), "")
	writeFile(t, s.AuthorizedKeys(), key.Line+"\n", 0o644)
	var known strings.Builder
	for _, key := range s.HostKeys {
		known.WriteString(s.Name() + " " + key.Line + "\n")
	}
	s.SetKnownHosts(t, known.String())
	s.SetConfig(t, "")
}

// path is a file of the client's .ssh.
func (s *Server) path(name string) string { return filepath.Join(s.Home, ".ssh", name) }

// Name is what known_hosts calls the server.
func (s *Server) Name() string { return fmt.Sprintf("[%s]:%d", s.Host, s.Port) }

// Target is the server as user@host:port.
func (s *Server) Target() string { return fmt.Sprintf("%s@%s:%d", s.User, s.Host, s.Port) }

// KnownHosts and ConfigFile are the client's.
func (s *Server) KnownHosts() string { return s.path("known_hosts") }

// ConfigFile is the client's ssh_config.
func (s *Server) ConfigFile() string { return s.path("config") }

// SetKnownHosts replaces the client's known_hosts.
func (s *Server) SetKnownHosts(t testing.TB, text string) {
	t.Helper()
	writeFile(t, s.KnownHosts(), text, 0o600)
}

// SetConfig replaces the client's ssh_config: these lines, then those that name
// the client's key and known_hosts, so that OpenSSH can be given the file too.
func (s *Server) SetConfig(t testing.TB, lines string) {
	t.Helper()
	own := fmt.Sprintf("Host *\nIdentityFile %s\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\n", s.path("id_ed25519"), s.KnownHosts())
	writeFile(t, s.ConfigFile(), lines+"\n"+own, 0o600)
}

// Authorize lets one key more log in.
func (s *Server) Authorize(t testing.TB, k Key) {
	t.Helper()
	data, err := os.ReadFile(s.AuthorizedKeys())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.AuthorizedKeys(), string(data)+k.Line+"\n", 0o644)
}

// Getenv is the client's environment: its home, and nothing else.
func (s *Server) Getenv(name string) string {
	if name == "HOME" {
		return s.Home
	}
	return ""
}
