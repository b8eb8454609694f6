package sshdial

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// likeOpenSSH are files on which OpenSSH's own reading is the measure. DIR is
// the directory of the file, which others lie in.
var likeOpenSSH = []struct {
	name, config string
	target       string
	files        map[string]string
}{
	{name: "nothing", config: ""},
	{name: "first value holds", config: "Host foo\nPort 1\nUser a\nHost *\nPort 2\nUser b\nHostName x.example\n"},
	{name: "another host", config: "Host foo\nPort 1\nHost *\nPort 2\n", target: "bar"},
	{name: "before any Host", config: "Port 5\nHost foo\nPort 1\n"},
	{name: "patterns", config: "Host f?o\nPort 1\nHost *o !foo\nUser a\nHost b* f*\nHostName %h.example.com\n"},
	{name: "negation after the match", config: "Host foo !foo\nPort 1\n"},
	{name: "negation alone", config: "Host !bar\nPort 1\n"},
	{name: "pattern in other case", config: "Host FOO\nPort 1\n"},
	{name: "target in other case", config: "Host foo\nPort 1\n", target: "FOO"},
	{name: "stars", config: "Host *f**o*\nPort 1\nHost f*oo*o\nUser x\n"},
	{name: "equals and quotes", config: "Host=foo\n\tPort = 1\nUser=\"a b\"\n HostName\t=\texample.com\n\"IdentityFile\" '/a b/c'\n"},
	{name: "two equals", config: "Port == 1\n"},
	{name: "comments", config: "# Port 1\n  # Port 2\nHost foo # bar\nUser a#b # c\nHostName x.example # y\n"},
	{name: "backslashes", config: `IdentityFile /a\ b\"c\\d\e` + "\nCertificateFile \"/x\\ y\"\n"},
	{name: "capitals and CRLF", config: "HOST foo\r\nPORT 7\r\nuSeR a\r\n\r\n"},
	{name: "form feed", config: "Port 7\f\n"},
	{name: "a quote left open", config: "User \"a\n"},
	{name: "a quote left open where it does not apply", config: "Host bar\nUser 'a\n"},
	{name: "no argument", config: "User\n"},
	{name: "only a comment for an argument", config: "User # a\n"},
	{name: "an empty argument", config: "User \"\"\n"},
	{name: "one argument too many", config: "User a b\n"},
	{name: "an unknown keyword", config: "Usr a\n"},
	{name: "an unknown keyword where it does not apply", config: "Host bar\nUsr a\n"},
	{name: "ignored keywords", config: "IgnoreUnknown Usr,Foo*\nUsr a\nFooBar\tb\nPort 3\n"},
	{name: "ignored too late", config: "Usr a\nIgnoreUnknown Usr\n"},
	{name: "a mark of another editor", config: "\ufeffPort 3\n"},
	{name: "no port", config: "Port abc\n"},
	{name: "port 0", config: "Port 0\n"},
	{name: "port 65536", config: "Port 65536\n"},
	{name: "no port where it does not apply", config: "Host bar\nPort abc\n"},
	{name: "flags", config: "IdentitiesOnly yes\nBatchMode TRUE\n"},
	{name: "no flag", config: "IdentitiesOnly maybe\n"},
	{name: "times", config: "ConnectTimeout 1m30\nServerAliveInterval 1h\nServerAliveCountMax 5\n"},
	{name: "no time", config: "ConnectTimeout soon\n"},
	{name: "a unit that is none", config: "ConnectTimeout 5x\n"},
	{name: "no timeout", config: "ConnectTimeout none\nServerAliveInterval 0\n"},
	{name: "identity files", config: "IdentityFile ~/a\nHost foo\nIdentityFile %d/b\nCertificateFile /c\nCertificateFile ~/d\n"},
	{name: "no identity file", config: "IdentityFile none\n"},
	{name: "known hosts", config: "UserKnownHostsFile ~/kh %d/kh2 /kh-%h-%p-%u-%r-%n\nGlobalKnownHostsFile /a /b\nPort 33\nHostName h\nUser me\n"},
	{name: "no known hosts", config: "UserKnownHostsFile none\nGlobalKnownHostsFile none\n"},
	{name: "hosts of other names", config: "HostName %h.%%.example\n"},
	{name: "a token that is none", config: "HostName %q\n"},
	{name: "a lone percent", config: "HostName a%\n"},
	{name: "agents", config: "IdentityAgent ~/agent-%r\nUser me\n"},
	{name: "no agent", config: "IdentityAgent none\n"},
	{name: "families", config: "AddressFamily inet6\nBindAddress 127.0.0.1\nHostKeyAlias Other\n"},
	{name: "no family", config: "AddressFamily inet7\n"},
	{name: "jumps", config: "ProxyJump a@b:33,c\n"},
	{name: "jump by URL", config: "ProxyJump ssh://a@b:33\n"},
	{name: "no jump", config: "ProxyJump none\nProxyJump a\n"},
	{name: "jump to a bad port", config: "ProxyJump a:99999\n"},
	{name: "jump to nobody", config: "ProxyJump a@\n"},
	{name: "strictness", config: "StrictHostKeyChecking accept-new\n"},
	{name: "no strictness", config: "StrictHostKeyChecking perhaps\n"},
	{name: "harmless", config: "ForwardAgent yes\nControlMaster auto\nControlPath ~/%C\nSendEnv LANG LC_*\nVisualHostKey yes\nPort 4\n"},
	{name: "include", config: "Include DIR/a\nPort 2\n", files: map[string]string{"a": "User a\nPort 1\n"}},
	{name: "include of many", config: "Include DIR/*.conf DIR/x\n", files: map[string]string{"2.conf": "Port 2\nUser b\n", "1.conf": "Port 1\n", "x": "User c\nHostName d\n"}},
	{name: "include of none", config: "Include DIR/*.conf\nPort 2\n"},
	{name: "include that does not apply", config: "Host bar\nInclude DIR/a\nHost foo\nUser u\n", files: map[string]string{"a": "Port 1\nHost foo\nPort 3\n"}},
	{name: "include under a host", config: "Host foo\nInclude DIR/a\nUser u\n", files: map[string]string{"a": "Host bar\nPort 1\nHost *\nPort 3\nHost bar\n"}},
	{name: "include with a fault", config: "Host bar\nInclude DIR/a\n", files: map[string]string{"a": "Usr x\n"}},
	{name: "include of itself", config: "Include DIR/config\n"},
	{name: "user and port of the target", config: "User a\nPort 3\n", target: "b@foo:4"},
}

func TestConfigLikeOpenSSH(t *testing.T) {
	t.Parallel()
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		dockertest.Missing(t, "sshd", err)
	}
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range likeOpenSSH {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range test.files {
				write(t, filepath.Join(dir, name), text)
			}
			config := filepath.Join(dir, "config")
			write(t, config, strings.ReplaceAll(test.config, "DIR", dir))
			target, err := ParseTarget(cmp.Or(test.target, "foo"))
			if err != nil {
				t.Fatal(err)
			}
			want, refused := oracle(t, ssh, config, target)
			d := Dialer{ConfigFile: config, Getenv: func(name string) string { return map[string]string{"HOME": u.HomeDir}[name] }}
			got, err := d.configure(target)
			if (err != nil) != refused {
				t.Fatalf("error %v; OpenSSH refuses: %v", err, refused)
			}
			if err != nil {
				return
			}
			if diff := gocmp.Diff(want, inWords(got, want)); diff != "" {
				t.Errorf("configure (-OpenSSH +got):\n%s", diff)
			}
		})
	}
}

// oracle is what ssh -G makes of a file, by directive.
func oracle(t *testing.T, ssh, config string, target Target) (values map[string]string, refused bool) {
	t.Helper()
	args := []string{"-G", "-T", "-F", config}
	if target.User != "" {
		args = append(args, "-l", target.User)
	}
	if target.Port != 0 {
		args = append(args, "-p", strconv.Itoa(target.Port))
	}
	out, err := exec.CommandContext(t.Context(), ssh, append(args, target.Host)...).Output()
	if err != nil {
		return nil, true
	}
	values = map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if slices.Contains(compared, name) {
			values[name] = value
		}
	}
	return values, false
}

// compared are the directives that are compared where OpenSSH prints them.
var compared = []string{
	"user", "hostname", "port", "userknownhostsfile", "globalknownhostsfile", "identityagent", "hostkeyalias",
	"proxyjump", "addressfamily", "bindaddress", "identitiesonly", "batchmode", "connecttimeout",
}

// inWords writes settings as ssh -G does, as far as want has them.
func inWords(s *settings, want map[string]string) map[string]string {
	flag := map[bool]string{true: "yes", false: "no"}
	known := slices.Index(s.knownHosts, strings.Fields(want["globalknownhostsfile"] + " -")[0])
	if known < 0 {
		known = len(s.knownHosts)
	}
	all := map[string]string{
		"user": s.user, "hostname": strings.ToLower(s.host), "port": strconv.Itoa(s.port),
		"userknownhostsfile":   cmp.Or(strings.Join(s.knownHosts[:known], " "), "none"),
		"globalknownhostsfile": cmp.Or(strings.Join(s.knownHosts[known:], " "), "none"),
		"identityagent":        cmp.Or(s.agent, "none"), "hostkeyalias": s.keyAlias, "proxyjump": strings.TrimPrefix(s.jump, "ssh://"),
		"addressfamily": map[string]string{"tcp": "any", "tcp4": "inet", "tcp6": "inet6"}[s.network],
		"bindaddress":   s.bind.String(), "identitiesonly": flag[s.identitiesOnly], "batchmode": flag[s.batch],
		"connecttimeout": fmt.Sprint(int(s.timeout.Seconds())),
	}
	if want["connecttimeout"] == "none" {
		all["connecttimeout"] = "none"
	}
	for name := range all {
		if _, ok := want[name]; !ok {
			delete(all, name)
		}
	}
	return all
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
