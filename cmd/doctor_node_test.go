package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/sshtest"
)

// TestDoctorNodes looks at nodes over SSH that are wrong each in its way, beside
// one that is not, and does what the remedies say where a program can.
func TestDoctorNodes(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	strict := sshtest.Start(t, sshtest.Options{}) // does not know our key
	plain := sshtest.Start(t, sshtest.Options{Users: []sshtest.User{{Name: "deploy"}}})
	unknown, changed := sshtest.Start(t, sshtest.Options{}), sshtest.Start(t, sshtest.Options{})
	for _, server := range []*sshtest.Server{plain, unknown, changed} {
		key, err := os.ReadFile(s.AuthorizedKeys())
		if err == nil {
			err = os.WriteFile(server.AuthorizedKeys(), key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	world := newNodeWorld(t, s, strict, plain)
	known, err := os.ReadFile(s.KnownHosts())
	if err != nil {
		t.Fatal(err)
	}
	s.SetKnownHosts(t, string(known)+changed.Name()+" "+s.HostKeys["ed25519"].Line+"\n")
	for name, tt := range map[string]struct {
		target, become string
		status         string
		says, remedy   string
		prepare        func(*nodeWorld)
	}{
		"nothing listens":    {target: "root@127.0.0.1:1", says: "connection refused", remedy: "check the port in nodes[].ssh"},
		"no name":            {target: "root@no-such-host.invalid", says: "could not resolve", remedy: "check the name in nodes[].ssh"},
		"not let in":         {target: strict.Target(), says: "permission denied", remedy: "authorized_keys of"},
		"unknown host key":   {target: unknown.Target(), says: "host key verification failed", remedy: "compare the fingerprint"},
		"changed host key":   {target: changed.Target(), says: "host key", remedy: "ssh-keygen -R '" + changed.Name() + "'"},
		"not root":           {target: plain.Target(), says: "user id 61000", remedy: `"sudo -n"`},
		"sudo refuses":       {target: plain.Target(), become: "sudo -n", says: "a password is required", remedy: "NOPASSWD"},
		"clock":              {target: s.Target(), become: fakeNode(t, "date", `echo $(($($REAL +%s) + 3600))`), says: "ahead of this machine's", remedy: "set the clock by NTP"},
		"space":              {target: s.Target(), become: fakeNode(t, "df", `echo head; echo "x 9 9 1000 99% /"`), says: "space: 0.0 GiB free", remedy: "make room on the node's disk"},
		"no lock tool":       {target: s.Target(), become: fakeNode(t, "flock", `exit 1`), says: "probe: do not work: locking files", remedy: "put the shared root on a local disk"},
		"a link":             {target: s.Target(), says: "a link", remedy: "see who made it, and remove it", prepare: func(w *nodeWorld) { link(t, w.root+"/hermes-common-skills") }},
		"well, elsewhere":    {target: s.Target(), status: "warn", says: "prefix: ", remedy: "extra_conf.allowed_host_mount_prefixes name "},
		"an unknown become":  {target: s.Target(), become: "/no/such/sudo", says: "/no/such/sudo", remedy: "root"},
		"a script that dies": {target: s.Target(), become: fakeNode(t, "mktemp", `kill -9 $PPID`), says: "node bad", remedy: "look at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.another(t)
			w.add("good", s.Target(), "")
			w.run(t, "node", "prepare").expect(t, 0)
			if tt.prepare != nil {
				tt.prepare(w)
			}
			w.add("bad", tt.target, tt.become)
			found := diagnosed(t, w.run(t, "doctor", "--output", "json"))
			if tt.status == "" {
				tt.status = "fail"
			}
			bad := found["node bad"]
			if bad.Status != tt.status || !strings.Contains(bad.Evidence, tt.says) || !strings.Contains(bad.Remedy, tt.remedy) {
				t.Errorf("%s: %s\n→ %s\nwant %s, %q and %q", bad.Status, bad.Evidence, bad.Remedy, tt.status, tt.says, tt.remedy)
			}
			if good := found["node good"]; good.Status != "warn" && tt.prepare == nil { // tests are not under /data/shared
				t.Errorf("the other: %s: %s", good.Status, good.Evidence)
			}
		})
	}
	t.Run("directories", func(t *testing.T) {
		t.Parallel()
		w := world.another(t)
		w.add("bad", s.Target(), "")
		before := diagnosed(t, w.run(t, "doctor", "--output", "json"))["node bad"]
		if before.Status != "fail" || !strings.Contains(before.Remedy, "hermesbox node prepare bad") {
			t.Errorf("%s: %s → %s", before.Status, before.Evidence, before.Remedy)
		}
		if _, err := os.Stat(w.root); !os.IsNotExist(err) {
			t.Errorf("doctor made something: %v", err)
		}
		w.run(t, "node", "prepare", "bad").expect(t, 0)
		if after := diagnosed(t, w.run(t, "doctor", "--output", "json"))["node bad"]; after.Status != "warn" {
			t.Errorf("after its remedy: %s: %s", after.Status, after.Evidence)
		}
		if left, err := filepath.Glob(w.root + "/*/*/probe-*"); err != nil || len(left) > 0 {
			t.Errorf("left on the node: %q, %v", left, err)
		}
	})
	t.Run("it hangs", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it takes a minute")
		}
		t.Parallel()
		w := world.another(t)
		w.add("bad", s.Target(), fakeNode(t, "date", `exec sleep 90`))
		if bad := diagnosed(t, w.run(t, "doctor", "--output", "json"))["node bad"]; bad.Status != "fail" {
			t.Errorf("%s: %s", bad.Status, bad.Evidence)
		}
	})
	t.Run("shared root", func(t *testing.T) {
		t.Parallel()
		w := &nodeWorld{home: s.Home, root: "/usr"}
		w.add("bad", s.Target(), "")
		if nodes := diagnosed(t, w.run(t, "doctor", "--output", "json"))["nodes"]; nodes.Status != "fail" || !strings.Contains(nodes.Remedy, "/data/shared") {
			t.Errorf("%s: %s → %s", nodes.Status, nodes.Evidence, nodes.Remedy)
		}
	})
}

// fakeNode is a become that has a program of the node say something else; as REAL
// its script has the program itself.
func fakeNode(t *testing.T, name, script string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	real, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	become := filepath.Join(dir, "become")
	for file, text := range map[string]string{
		"real": string(real), "fake": "#!/bin/sh\nREAL=" + dir + "/real\n" + script + "\n",
		"become": "#!/bin/sh\nexec unshare -m /bin/sh -c 'mount --bind " + dir + "/fake " + program + ` && exec "$@"' sh "$@"` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return become
}

// link puts a link in the place of a directory.
func link(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", dir); err != nil {
		t.Fatal(err)
	}
}
