package sshdial_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// scene is a server and a client that wants in.
type scene struct {
	*sshtest.Server
	agent  string
	target string // Server.Target by default
}

// args are what OpenSSH is given for the target.
func (s *scene) args(t *testing.T) []string {
	t.Helper()
	target, err := sshdial.ParseTarget(s.target)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-F", s.ConfigFile(), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"}
	if target.User != "" {
		args = append(args, "-l", target.User)
	}
	if target.Port != 0 {
		args = append(args, "-p", strconv.Itoa(target.Port))
	}
	return append(args, target.Host, "echo in")
}

// openssh is OpenSSH's own verdict.
func (s *scene) openssh(t *testing.T) (verdict, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ssh", s.args(t)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Home, "SSH_AUTH_SOCK=" + s.agent}
	out, err := cmd.CombinedOutput()
	if err == nil && strings.HasSuffix(string(out), "in\n") {
		return "in", ""
	}
	for _, sign := range [][2]string{
		{"REVOKED HOST KEY DETECTED", "revoked"},
		{"revoked key", "revoked"},
		{"REMOTE HOST IDENTIFICATION HAS CHANGED", "changed"},
		{"host key is known for", "unknown"},
		{"Too many authentication failures", "too many"},
		{"Permission denied", "denied"},
		{"Invalid key length", "weak"},
		{"Connection refused", "refused"},
		{"timed out", "timed out"},
		{"Could not resolve", "no such host"},
		{"Connection closed", "closed"},
		{"Connection reset", "closed"},
		{"Broken pipe", "closed"},
		{"Host key verification failed", "unknown"},
		{"Invalid SSH identification", "not ssh"},
		{"banner line contains invalid", "not ssh"},
		{"no matching", "not ssh"},
		{"open failed: administratively prohibited", "forbidden"},
	} {
		if strings.Contains(string(out), sign[0]) {
			return sign[1], string(out)
		}
	}
	return "?", string(out)
}

// ours is hermesbox's verdict.
func (s *scene) ours(t *testing.T) (verdict string, err error) {
	t.Helper()
	d := sshdial.Dialer{Getenv: s.getenv}
	conn, err := d.Dial(t.Context(), s.target)
	if err != nil {
		return verdictOf(err), err
	}
	defer conn.Close()
	var out bytes.Buffer
	code, err := conn.Run(t.Context(), sshdial.Command{Line: "echo in", Stdout: &out})
	if err != nil || code != 0 || out.String() != "in\n" {
		t.Fatalf("Run: %d, %v, %q", code, err, out.String())
	}
	return "in", nil
}

func (s *scene) getenv(name string) string {
	if name == "SSH_AUTH_SOCK" {
		return s.agent
	}
	return s.Getenv(name)
}

func verdictOf(err error) string {
	var unreachable *sshdial.UnreachableError
	var hostKey *sshdial.HostKeyError
	var auth *sshdial.AuthError
	switch {
	case errors.As(err, &unreachable):
		return string(unreachable.Cause)
	case errors.As(err, &hostKey):
		return string(hostKey.Kind)
	case errors.As(err, &auth) && auth.TooMany:
		return "too many"
	case errors.As(err, &auth):
		return "denied"
	}
	return "?"
}

// contest puts OpenSSH's verdict beside ours.
type contest struct {
	name    string
	options sshtest.Options
	prepare func(t *testing.T, s *scene)
	want    string
	// text is what our error says, and what not.
	text, not []string
}

func (c contest) run(t *testing.T) {
	t.Parallel()
	s := &scene{Server: sshtest.Start(t, c.options)}
	s.target = s.Target()
	if c.prepare != nil {
		c.prepare(t, s)
	}
	if theirs, output := s.openssh(t); theirs != c.want {
		t.Errorf("OpenSSH: %s, want %s\n%s", theirs, c.want, output)
	}
	got, err := s.ours(t)
	if got != c.want {
		t.Errorf("hermesbox: %s (%v), want %s", got, err, c.want)
	}
	for _, text := range c.text {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v does not say %q", err, text)
		}
	}
	for _, text := range c.not {
		if err != nil && strings.Contains(err.Error(), text) {
			t.Errorf("error %v says %q", err, text)
		}
	}
}

// known writes known_hosts for the server, one line for each type of key.
func known(s *scene, prefix string, types ...string) string {
	var lines strings.Builder
	for _, kind := range types {
		lines.WriteString(prefix + s.Name() + " " + s.HostKeys[kind].Line + "\n")
	}
	return lines.String()
}

// hosts has a client's known_hosts say a text.
func hosts(text func(s *scene) string) func(*testing.T, *scene) {
	return func(t *testing.T, s *scene) { s.SetKnownHosts(t, text(s)) }
}

func TestHostKeys(t *testing.T) {
	t.Parallel()
	all := sshtest.Options{HostKeys: []string{"rsa", "ecdsa", "ed25519"}}
	other := map[string]sshtest.Key{"rsa": sshtest.NewKey(t, "rsa"), "ed25519": sshtest.NewKey(t, "ed25519")}
	tests := []contest{
		{name: "ed25519", options: sshtest.Options{HostKeys: []string{"ed25519"}}, want: "in"},
		{name: "ecdsa", options: sshtest.Options{HostKeys: []string{"ecdsa"}}, want: "in"},
		{name: "rsa", options: sshtest.Options{HostKeys: []string{"rsa"}}, want: "in"},
		{name: "all, all known", options: all, want: "in"},
		{name: "all, ed25519 known", options: all, want: "in", prepare: hosts(func(s *scene) string { return known(s, "", "ed25519") })},
		{name: "all, ecdsa known", options: all, want: "in", prepare: hosts(func(s *scene) string { return known(s, "", "ecdsa") })},
		{name: "all, rsa known", options: all, want: "in", prepare: hosts(func(s *scene) string { return known(s, "", "rsa") })},
		{
			name: "an empty known_hosts", want: "unknown", prepare: hosts(func(*scene) string { return "" }),
			text: []string{"no ED25519 host key is known for [127.0.0.1]:", "SHA256:", "/.ssh/known_hosts"}, not: []string{"keyscan", "StrictHostKeyChecking"},
		},
		{name: "no known_hosts", want: "unknown", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "UserKnownHostsFile /nonexistent/known_hosts\n")
		}, text: []string{"in /nonexistent/known_hosts"}},
		{name: "no file at all", want: "unknown", prepare: func(t *testing.T, s *scene) { s.SetConfig(t, "UserKnownHostsFile none\n") }, text: []string{"ssh_config names no file of known hosts"}},
		{name: "/dev/null", want: "unknown", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "UserKnownHostsFile /dev/null\n")
		}},
		{
			name: "changed", want: "changed",
			prepare: hosts(func(s *scene) string { return "\n" + s.Name() + " " + other["ed25519"].Line + "\n" }),
			text:    []string{"the ED25519 host key of [127.0.0.1]:", "has changed", "known_hosts:2 has another ED25519 key"},
		},
		{name: "changed, another type right", options: all, want: "changed", prepare: hosts(func(s *scene) string {
			return s.Name() + " " + other["ed25519"].Line + "\n" + known(s, "", "rsa")
		})},
		{
			name: "another type known", want: "changed", prepare: hosts(func(s *scene) string { return s.Name() + " " + other["rsa"].Line + "\n" }),
			text: []string{"the ED25519 host key of", "known_hosts:1 has another RSA key"},
		},
		{name: "a wrong key, then the right one", want: "in", prepare: hosts(func(s *scene) string {
			return s.Name() + " " + other["ed25519"].Line + "\n" + known(s, "", "ed25519")
		})},
		{name: "known without its port", want: "in", prepare: hosts(func(s *scene) string { return "127.0.0.1 " + s.HostKeys["ed25519"].Line + "\n" })},
		{name: "changed without its port", want: "unknown", prepare: hosts(func(*scene) string { return "127.0.0.1 " + other["ed25519"].Line + "\n" })},
		{name: "known by another port", want: "unknown", prepare: hosts(func(s *scene) string { return "[127.0.0.1]:1 " + s.HostKeys["ed25519"].Line + "\n" })},
		{name: "hashed", want: "in", prepare: func(t *testing.T, s *scene) {
			if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-H", "-f", s.KnownHosts()).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}},
		{
			name: "revoked", want: "revoked", prepare: hosts(func(s *scene) string { return known(s, "", "ed25519") + known(s, "@revoked ", "ed25519") }),
			text: []string{"is marked as revoked in", "known_hosts:2"},
		},
		{name: "another revoked", want: "in", prepare: hosts(func(s *scene) string {
			return "@revoked * " + other["ed25519"].Line + "\n" + known(s, "", "ed25519")
		})},
		{name: "revoked for others", want: "in", prepare: hosts(func(s *scene) string {
			return "@revoked other " + s.HostKeys["ed25519"].Line + "\n" + known(s, "", "ed25519")
		})},
		{name: "broken lines about", want: "in", prepare: hosts(func(s *scene) string {
			return s.Name() + " ssh-ed25519 AAAA\n@foo\n" + known(s, "", "ed25519") + "rest"
		})},
		{name: "two files", want: "in", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "UserKnownHostsFile /nonexistent "+s.KnownHosts()+"\n")
		}},
		{name: "the system's file", want: "in", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "UserKnownHostsFile none\nGlobalKnownHostsFile "+s.KnownHosts()+"\n")
		}},
		{name: "an alias for the key", want: "in", prepare: func(t *testing.T, s *scene) {
			s.SetConfig(t, "HostKeyAlias Node\n")
			s.SetKnownHosts(t, "node "+s.HostKeys["ed25519"].Line+"\n")
		}},
		{name: "an alias for the key, unknown", want: "unknown", prepare: func(t *testing.T, s *scene) { s.SetConfig(t, "HostKeyAlias node\n") }, text: []string{"known for node"}},

		{name: "an authority is no host", want: "unknown", prepare: hosts(func(s *scene) string { return known(s, "@cert-authority ", "ed25519") })},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestHostCertificates(t *testing.T) {
	t.Parallel()
	other := sshtest.NewKey(t, "ed25519")
	ca := sshtest.NewKey(t, "ecdsa")
	certified := func(c sshtest.Certificate) sshtest.Options {
		c.CA = ca
		return sshtest.Options{Certificate: &c}
	}
	authority := func(t *testing.T, s *scene) {
		s.SetKnownHosts(t, "@cert-authority [127.0.0.1]:*,al "+ca.Line+"\n")
	}
	tests := []contest{
		{name: "certified", options: certified(sshtest.Certificate{Principals: []string{"other", "127.0.0.1"}}), want: "in", prepare: authority},
		{name: "certified, rsa", options: sshtest.Options{HostKeys: []string{"rsa"}, Certificate: &sshtest.Certificate{CA: ca, Principals: []string{"127.0.0.1"}}}, want: "in", prepare: authority},
		{name: "certified by a pattern", options: certified(sshtest.Certificate{Principals: []string{"127.0.*"}}), want: "unknown", prepare: authority},
		{
			name: "certified for another", options: certified(sshtest.Certificate{Principals: []string{"other"}}), want: "unknown", prepare: authority,
			text: []string{"no ED25519 host key is known", "its certificate was not taken: it is not for 127.0.0.1, but for other"},
		},
		{
			name: "certified and expired", options: certified(sshtest.Certificate{Principals: []string{"127.0.0.1"}, Until: time.Now().Add(-time.Hour)}), want: "unknown",
			prepare: authority, text: []string{"its certificate was not taken: cert has expired"},
		},
		{name: "certified for an alias", options: certified(sshtest.Certificate{Principals: []string{"al"}}), want: "in", prepare: func(t *testing.T, s *scene) {
			authority(t, s)
			s.SetConfig(t, "HostKeyAlias al\n")
		}},
		{name: "certified, key known", options: certified(sshtest.Certificate{Principals: []string{"127.0.0.1"}}), want: "in"},
		{name: "certified for another, key known", options: certified(sshtest.Certificate{Principals: []string{"other"}}), want: "in", prepare: func(t *testing.T, s *scene) {
			s.SetKnownHosts(t, "@cert-authority * "+ca.Line+"\n"+known(s, "", "ed25519"))
		}},
		{
			name: "certified by someone else", options: certified(sshtest.Certificate{Principals: []string{"127.0.0.1"}}), want: "unknown",
			prepare: hosts(func(*scene) string { return "@cert-authority * " + other.Line + "\n" }),
			text:    []string{"known_hosts has no @cert-authority for [127.0.0.1]:"},
		},
		{name: "certified by one who was revoked", options: certified(sshtest.Certificate{Principals: []string{"127.0.0.1"}}), want: "revoked", prepare: hosts(func(*scene) string {
			return "@cert-authority * " + ca.Line + "\n@revoked * " + ca.Line + "\n"
		})},
		{name: "certified, key revoked", options: certified(sshtest.Certificate{Principals: []string{"127.0.0.1"}}), want: "revoked", prepare: hosts(func(s *scene) string {
			return "@cert-authority * " + ca.Line + "\n" + known(s, "@revoked ", "ed25519")
		})},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

// ssh_config cannot make the keys of servers go unchecked, and it is said.
func TestHostKeysStrict(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"no", "off", "accept-new"} {
		s := &scene{Server: sshtest.Start(t, sshtest.Options{})}
		s.target = s.Target()
		s.SetConfig(t, "StrictHostKeyChecking "+value+"\n")
		s.SetKnownHosts(t, "")
		got, err := s.ours(t)
		want := "StrictHostKeyChecking at " + s.ConfigFile() + ":1 is not followed"
		if got != "unknown" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s (%v)", value, got, err)
		}
		if data, err := os.ReadFile(s.KnownHosts()); err != nil || len(data) > 0 {
			t.Errorf("known_hosts was written: %q, %v", data, err)
		}
	}
}

func TestHostKeyUnreadable(t *testing.T) {
	t.Parallel()
	s := &scene{Server: sshtest.Start(t, sshtest.Options{})}
	s.target = s.Target()
	s.SetConfig(t, "UserKnownHostsFile "+filepath.Dir(s.KnownHosts())+"\n")
	_, err := s.ours(t)
	var config *sshdial.ConfigError
	if !errors.As(err, &config) || s.Connections() != 0 {
		t.Errorf("error %v after %d connections", err, s.Connections())
	}
}
