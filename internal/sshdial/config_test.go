package sshdial

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// home makes a home directory of files below .ssh.
func home(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, ".ssh", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	return dir
}

// env is an environment.
func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func configured(t *testing.T, config string) (*settings, string, error) {
	t.Helper()
	dir := home(t, map[string]string{"config": config})
	d := Dialer{Getenv: env(map[string]string{"HOME": dir, "SSH_AUTH_SOCK": "/agent", "OTHER": "/other", "DIR": "/var"})}
	s, err := d.configure(Target{Host: "foo"})
	return s, dir, err
}

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	const changes = "it would change the connection, and hermesbox does not follow it"
	tests := []struct {
		name, config string
		line         int
		directive    string
		reason       string
		unsupported  bool
	}{
		{"Match", "Port 1\nMatch host foo\n", 2, "Match", changes, true},
		{"Match all", "match all\n", 1, "match", changes, true},
		{"Match below another host", "Host bar\nMatch all\n", 2, "Match", changes, true},
		{"ProxyCommand", "ProxyCommand nc %h %p | tee 'x\n", 1, "ProxyCommand", changes, true},
		{"ProxyUseFdpass is no way by itself, the command is", "ProxyUseFdpass yes\nProxyCommand x\n", 2, "ProxyCommand", changes, true},
		{"canonical names", "CanonicalizeHostname always\n", 1, "CanonicalizeHostname", changes, true},
		{"algorithms that are not there", "Ciphers nosuch,3des-ecb\n", 1, "Ciphers", "hermesbox has none of these algorithms", false},
		{"all algorithms taken away", "KexAlgorithms -*\n", 1, "KexAlgorithms", "hermesbox has none of these algorithms", false},
		{"no number", "ServerAliveCountMax x\n", 1, "ServerAliveCountMax", `bad number "x"`, false},
		{"a jump that is none", "ProxyJump ssh://a/b\n", 1, "ProxyJump", `ssh target "ssh://a/b": it is not ssh://[user@]host[:port]`, false},
		{"known hosts of a program", "KnownHostsCommand /bin/x\n", 1, "KnownHostsCommand", changes, true},
		{"revoked keys", "RevokedHostKeys /x\n", 1, "RevokedHostKeys", changes, true},
		{"no keys", "PubkeyAuthentication no\n", 1, "PubkeyAuthentication", changes, true},
		{"only passwords", "PreferredAuthentications password,keyboard-interactive\n", 1, "PreferredAuthentications", changes, true},
		{"a command", "RemoteCommand ls -l\n", 1, "RemoteCommand", changes, true},
		{"addresses checked too", "CheckHostIP yes\n", 1, "CheckHostIP", changes, true},
		{"an interface", "BindInterface eth0\n", 1, "BindInterface", changes, true},
		{"security keys", "PKCS11Provider /x.so\n", 1, "PKCS11Provider", changes, true},
		{"the first of two", "Port 1\nRevokedHostKeys x\nKnownHostsCommand y\n", 2, "RevokedHostKeys", changes, true},
		{"a name to bind to", "BindAddress localhost\n", 1, "BindAddress", "only an IP address is taken", false},
		{"unknown", "Prot 1\n", 1, "Prot", "bad configuration option", false},
		{"a quote", "Host foo\nUser \"a\n", 2, "User", "a quote is not closed", false},
		{"a quote in the keyword", "\"User a\n", 1, "", "a quote is not closed", false},
		{"a variable", "IdentityFile ${NONE}/x\n", 1, "IdentityFile", "the variable ${NONE} is not set", false},
		{"half a variable", "CertificateFile ${DIR/x\n", 1, "CertificateFile", "the variable ${DIR/x\n} is not set", false},
		{"a user that is none", "UserKnownHostsFile ~no-such-user/x\n", 1, "UserKnownHostsFile", `no such user "no-such-user"`, false},
		{"a user that is none, included", "Include ~no-such-user/x\n", 1, "Include", `no such user "no-such-user"`, false},
		{"a token", "GlobalKnownHostsFile /%C\n", 1, "GlobalKnownHostsFile", `unknown token "%C" in "/%C"`, false},
		{"a token for the agent", "IdentityAgent /%Z\n", 1, "IdentityAgent", `unknown token "%Z" in "/%Z"`, false},
		{"a lone percent", "HostName foo%\n", 1, "HostName", `"foo%" ends in a lone %`, false},
		{"a name that no host has", "HostName \"a b\"\n", 1, "HostName", "neither user nor host can hold spaces or control characters", false},
		{"a bad pattern", "Include [\n", 1, "Include", `"[" is no pattern for files`, false},
		{"a directory", "Include .\n", 0, "", "it is not a regular file", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, dir, err := configured(t, test.config)
			var got *ConfigError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a ConfigError", err)
			}
			want := &ConfigError{filepath.Join(dir, ".ssh/config"), test.line, test.directive, strings.ReplaceAll(test.reason, "\n", ""), test.unsupported}
			if test.line == 0 {
				want.File = filepath.Join(dir, ".ssh")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.line > 0 && test.directive != "" && !strings.Contains(err.Error(), fmt.Sprintf("config:%d: %s: ", test.line, test.directive)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// What would change the connection is no matter where it does not apply, says
// what holds anyway, or comes after a value that does.
func TestConfigAccepted(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"for another host":  "Host bar\nProxyCommand x\nRevokedHostKeys y\n",
		"overruled":         "ProxyCommand none\nProxyCommand x\nCanonicalizeHostname no\nCheckHostIP no\n",
		"the default":       "PubkeyAuthentication yes\nSessionType default\nStdinNull no\nRemoteCommand none\nRevokedHostKeys none\nProtocol 2\n",
		"keys among others": "PreferredAuthentications gssapi-with-mic,publickey\n",
		"harmless":          "SetEnv A=\"b c\nLogLevel DEBUG3\nLocalForward 80 host:80\nControlPersist 5m\nUseKeychain yes\nAddKeysToAgent yes\nCompression yes\n",
		"gone":              "IgnoreUnknown Foo\nFoo bar\n",
	}
	for name, config := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := configured(t, config); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestConfigPaths(t *testing.T) {
	t.Parallel()
	s, dir, err := configured(t, "Host foo\nIdentityFile %d/k-%h-%k-%n-%p-%r\nIdentityFile ${DIR}/k\nIdentityFile ~/%%\nIdentityFile ${DIR}/k\n"+
		"IdentityAgent $OTHER\nHostKeyAlias al\nPort 9\nHostName h\nUser u\nStrictHostKeyChecking no\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{dir + "/k-h-al-foo-9-u", "/var/k", dir + "/%"}
	if diff := cmp.Diff(want, s.identities); diff != "" {
		t.Errorf("identities (-want +got):\n%s", diff)
	}
	if s.agent != "/other" || s.name() != "al" || s.lax != dir+"/.ssh/config:11" {
		t.Errorf("agent %s, name %s, lax %s", s.agent, s.name(), s.lax)
	}
}

func TestConfigAgents(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"":                              "/agent",
		"IdentityAgent SSH_AUTH_SOCK\n": "/agent",
		"IdentityAgent none\n":          "",
		"IdentityAgent $NONE\n":         "",
		"IdentityAgent ${OTHER}/a\n":    "/other/a",
	} {
		s, _, err := configured(t, config)
		if err != nil || s.agent != want {
			t.Errorf("%q: agent %q, %v; want %q", config, s.agent, err, want)
		}
	}
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := Dialer{Getenv: env(map[string]string{"HOME": dir})}
	s, err := d.configure(Target{Host: "Foo.Example", User: "me", Port: 2222})
	if err != nil {
		t.Fatal(err)
	}
	if s.name() != "[foo.example]:2222" || s.timeout != 15*time.Second || s.aliveInterval != 15*time.Second || s.aliveCount != 3 || s.explicit {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(filepath.Join(dir, ".ssh/id_rsa"), s.identities[0]); diff != "" {
		t.Errorf("identities (-want +got):\n%s", diff)
	}
	d = Dialer{Getenv: d.Getenv, Timeout: time.Second, KeepAlive: time.Minute}
	if s, err = d.configure(Target{Host: "foo"}); err != nil || s.timeout != time.Second || s.aliveInterval != time.Minute {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestConfigRelativeInclude(t *testing.T) {
	t.Parallel()
	dir := home(t, map[string]string{"config": "Include conf.d/*\n", "conf.d/a": "Port 7\nInclude other\n", "other": "User u\n"})
	d := Dialer{Getenv: env(map[string]string{"HOME": dir})}
	s, err := d.configure(Target{Host: "foo"})
	if err != nil || s.port != 7 || s.user != "u" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestConfigFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string // "" is none
	}{
		{"writable by others", func(t *testing.T, dir string) { chmod(t, dir+"/.ssh/config", 0o666) }, "/.ssh/config: bad owner or permissions 0666"},
		{"included, writable by others", func(t *testing.T, dir string) { chmod(t, dir+"/.ssh/other", 0o622) }, "/.ssh/other: bad owner or permissions 0622"},
		{"readable by others", func(t *testing.T, dir string) { chmod(t, dir+"/.ssh/config", 0o644) }, ""},
		{"a directory", func(t *testing.T, dir string) {
			swap(t, dir+"/.ssh/config", func(p string) error { return os.Mkdir(p, 0o700) })
		}, "/.ssh/config: it is not a regular file"},
		{"a loop of links", func(t *testing.T, dir string) {
			swap(t, dir+"/.ssh/config", func(p string) error { return os.Symlink(p, p) })
		}, "/.ssh/config: it cannot be read: too many levels of symbolic links"},
		{"an included loop of links", func(t *testing.T, dir string) {
			swap(t, dir+"/.ssh/other", func(p string) error { return os.Symlink(p, p) })
		}, "/.ssh/config:1: Include: "},
		{"an included link to nothing", func(t *testing.T, dir string) {
			swap(t, dir+"/.ssh/other", func(p string) error { return os.Symlink("/nonexistent/x", p) })
		}, ""},
		{"none", func(t *testing.T, dir string) { swap(t, dir+"/.ssh/config", func(string) error { return nil }) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := home(t, map[string]string{"config": "Include ot*\n", "other": "Port 7\n"})
			test.spoil(t, dir)
			d := Dialer{Getenv: env(map[string]string{"HOME": dir})}
			_, err := d.configure(Target{Host: "foo"})
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var got *ConfigError
			if !errors.As(err, &got) || !strings.HasPrefix(err.Error(), dir+test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// TestHostName: an alias leads to what ssh_config says.
func TestHostName(t *testing.T) {
	t.Parallel()
	dir := home(t, map[string]string{"config": "Match host x\n", "good": "Host node\nHostName 10.0.0.5\nHost *.x\nHostname %h.example\n"})
	d := Dialer{Getenv: env(map[string]string{"HOME": dir}), ConfigFile: dir + "/.ssh/good"}
	for target, want := range map[string]string{"root@node:22": "10.0.0.5", "a.x": "a.x.example", "other": "other"} {
		if got, err := d.HostName(target); err != nil || got != want {
			t.Errorf("%s: %q, %v", target, got, err)
		}
	}
	if got, err := d.HostName("root@"); got != "" || err == nil {
		t.Errorf("no host: %q, %v", got, err)
	}
	d.ConfigFile = ""
	if got, err := d.HostName("x"); got != "" || err == nil {
		t.Errorf("a Match: %q, %v", got, err)
	}
}

// Distributions put their algorithms into a Match of the system's file.
func TestConfigSystem(t *testing.T) {
	t.Parallel()
	dir := home(t, map[string]string{"a": "Match final all\n\tInclude b\nMatch all\nPort 7\nHost bar\nUser x\n", "b": "Ciphers aes128-ctr\n", "c": "Host bar\nInclude a\n", "d": "Match host foo\n"})
	dir += "/.ssh"
	read := func(name string) (*configReader, error) {
		r := &configReader{host: "foo", home: dir, opts: set{}}
		return r, r.file(configFile{path: filepath.Join(dir, name), dir: dir, system: true}, true)
	}
	r, err := read("a")
	if err != nil || set(r.opts).value("port") != "7" || set(r.opts).value("ciphers") != "aes128-ctr" || set(r.opts).value("user") != "" {
		t.Errorf("%v, %v", r.opts, err)
	}
	if r, err = read("c"); err != nil || len(r.opts) != 0 {
		t.Errorf("where it does not apply: %v, %v", r.opts, err)
	}
	var unsupported *ConfigError
	if _, err = read("d"); !errors.As(err, &unsupported) || !unsupported.Unsupported {
		t.Errorf("error %v", err)
	}
}

func TestConfigFileMissing(t *testing.T) {
	t.Parallel()
	d := Dialer{ConfigFile: filepath.Join(t.TempDir(), "none")}
	_, err := d.configure(Target{Host: "foo"})
	var got *ConfigError
	if !errors.As(err, &got) || got.Reason != "it cannot be read: no such file or directory" {
		t.Errorf("error %v", err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// swap puts something else where a file is.
func swap(t *testing.T, path string, put func(string) error) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := put(path); err != nil {
		t.Fatal(err)
	}
}

func FuzzConfig(f *testing.F) {
	for _, test := range likeOpenSSH {
		f.Add(test.config)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "include") {
			t.Skip("files outside the test")
		}
		r := &configReader{host: "foo", home: dir, opts: set{}}
		active := true
		for i, line := range strings.Split(text, "\n") {
			o := option{file: "config", line: i + 1}
			err := r.line(configFile{path: "config", dir: dir}, line, o, &active, false)
			var named *ConfigError
			if err != nil && (!errors.As(err, &named) || named.Line != i+1) {
				t.Fatalf("error %v of line %d", err, i+1)
			}
		}
		d := Dialer{}
		s, err := d.settle(Target{Host: "foo"}, r.opts, local{home: dir, user: "u", getenv: d.getenv()})
		if err != nil {
			return
		}
		if s.port < 1 || s.port > 65535 || s.host == "" || strings.ContainsAny(s.host, " \n") {
			t.Errorf("%+v", s)
		}
	})
}
