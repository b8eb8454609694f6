package verify_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

// breakage is a way in which a sandbox is not right, and what verify must say.
type breakage struct {
	name string
	// inside and on the node, what breaks it and what mends it.
	inside, mend       string
	onNode, mendOnNode string
	// options are changed instead.
	options func(*verify.Options)
	// fail are the checks that fail; skip those that are skipped because of
	// another. All else is as before.
	fail []string
	skip map[string]string
	// says is in the evidence of the first that fails.
	says string
}

const (
	agent = "/opt/hermes-agent"
	home  = "/root/.hermes"
)

// breakages are those of a sandbox that hermesbox made.
func breakages() []breakage {
	turn := map[string]string{"agent-turn": "agent-import"}
	version := map[string]string{"agent-turn": "agent-version", "overlay": "agent-version"}
	web := map[string]string{"identity": "web-ui", "secrets": "web-ui"}
	setting := func(change func(*verify.Options)) func(*verify.Options) { return change }
	return []breakage{
		{name: "litter in the home", inside: "mkdir " + home + "/a; touch " + home + "/a/.DS_Store", mend: "rm -r " + home + "/a", fail: []string{"litter"}, says: "/a/.DS_Store"},
		{name: "litter with a name that moves the cursor", inside: `touch $'/root/.hermes/._\e[2J\nok'`, mend: "rm " + home + "/._*", fail: []string{"litter"}, says: `\x1b`},
		{name: "litter at the root of the skills", onNode: `mkdir "$1/hermes-common-skills/.Trashes"`, mendOnNode: `rmdir "$1/hermes-common-skills/.Trashes"`, fail: []string{"litter"}, says: ".Trashes"},
		{
			name: "an AppleDouble file among the tools", inside: `printf '\0\5\26\7\0\2\0\0\377' >` + agent + "/tools/._files.py", mend: "rm " + agent + "/tools/._files.py",
			fail: []string{"litter", "source", "agent-import"}, skip: turn, says: "tools/._files.py",
		},
		{name: "a byte of a source file changed", inside: "sed -i s/#/+/ " + agent + "/README.md", mend: "sed -i s/+/#/ " + agent + "/README.md", fail: []string{"source"}, says: `1 changed: "README.md"`},
		{name: "a source file missing", inside: "mv " + agent + "/README.md /run/", mend: "mv /run/README.md " + agent, fail: []string{"source"}, says: `1 missing: "README.md"`},
		{name: "a source file added", inside: "touch " + agent + "/tools/new.txt", mend: "rm " + agent + "/tools/new.txt", fail: []string{"source"}, says: `1 added: "tools/new.txt"`},
		{name: "a pipe among the sources", inside: "mkfifo " + agent + "/tools/pipe", mend: "rm " + agent + "/tools/pipe", fail: []string{"source"}, says: `1 added: "tools/pipe"`},
		{name: "no manifest", inside: "mv /usr/share/hermesbox/manifest /run/", mend: "mv /run/manifest /usr/share/hermesbox/", fail: []string{"source"}, says: "no manifest"},
		{name: "the venv lost its packages", inside: "mv " + agent + "/.venv/lib /run/", mend: "mv /run/lib " + agent + "/.venv/", fail: []string{"agent-import"}, skip: turn, says: "No module named 'model_tools'"},
		{
			name: "the venv has no Python", inside: "mv " + agent + "/.venv/bin/python /run/", mend: "mv /run/python " + agent + "/.venv/bin/",
			fail: []string{"agent-import", "agent-version"}, skip: map[string]string{"overlay": "agent-version", "agent-turn": "agent-import"}, says: "exit code 127",
		},
		{name: "another version of hermes", inside: "sed -i s/v0.19.0/v0.18.2/ " + agent + "/.venv/bin/hermes", mend: "sed -i s/v0.18.2/v0.19.0/ " + agent + "/.venv/bin/hermes", fail: []string{"agent-version"}, skip: version, says: "the source is \"0.19.0\""},
		{name: "no config.yaml", inside: "mv " + home + "/config.yaml /run/", mend: "cp /run/config.yaml " + home, fail: []string{"seeded"}, says: "config.yaml is no file"},
		{name: "a pipe for config.yaml", inside: "cd " + home + "; mv config.yaml /run/; mkfifo config.yaml", mend: "rm " + home + "/config.yaml; cp /run/config.yaml " + home, fail: []string{"seeded"}, says: "config.yaml is no file"},
		{name: "two documents in config.yaml", inside: "cp " + home + "/config.yaml /run/; printf -- '---\\na: b\\n' >>" + home + "/config.yaml", mend: "cp /run/config.yaml " + home, fail: []string{"seeded"}, says: "more than one document"},
		{name: "a broken config.yaml", inside: "cp " + home + "/config.yaml /run/; echo 'key: [secret' >>" + home + "/config.yaml", mend: "cp /run/config.yaml " + home, fail: []string{"seeded"}, says: "is broken line"},
		{name: "a file of the default home missing", inside: "mv " + home + "/SOUL.md /run/", mend: "cp /run/SOUL.md " + home, fail: []string{"seeded"}, says: `"SOUL.md"`},
		{name: "a directory of the default home hidden", inside: "mv " + home + "/plugins /run/; touch " + home + "/plugins", mend: "rm " + home + "/plugins; cp -r /run/plugins " + home, fail: []string{"seeded"}, says: "plugins is a file"},
		{name: "a skill not linked", inside: "rm " + home + "/skills/alpha", mend: "ln -s /opt/hermes-common-skills/alpha " + home + "/skills/alpha", fail: []string{"overlay"}, says: `not linked: "alpha"`},
		{
			name: "a link replaced by a copy", inside: "cd " + home + "/skills; rm alpha; cp -r /opt/hermes-common-skills/alpha .", mend: "cd " + home + "/skills; rm -r alpha; ln -s /opt/hermes-common-skills/alpha alpha",
			fail: []string{"overlay"}, says: "will not follow a deploy",
		},
		{name: "a dangling link of the user's own", inside: "ln -s /workspace/gone " + home + "/skills/mine", mend: "rm " + home + "/skills/mine", fail: []string{"overlay"}, says: `dangle: "mine"`},
		{name: "a dangling link", inside: "ln -s /opt/hermes-common-skills/gone " + home + "/skills/gone", mend: "rm " + home + "/skills/gone", fail: []string{"overlay"}, says: "gone"},
		{
			name: "a private skill with a public one's name", inside: "mkdir -p " + home + "/skills/mine; cp -r /opt/hermes-common-skills/beta " + home + "/skills/mine/", mend: "rm -r " + home + "/skills/mine",
			fail: []string{"overlay"}, says: "linked and private at once",
		},
		{
			name: "a public skill that calls itself otherwise", onNode: `sed -i 's/^name: beta/name: gamma/' "$1/hermes-common-skills/beta/SKILL.md"`, mendOnNode: `sed -i 's/^name: gamma/name: beta/' "$1/hermes-common-skills/beta/SKILL.md"`,
			fail: []string{"overlay"}, says: "beta 0 times",
		},
		{name: "the page is broken", inside: "touch /run/fake-page", mend: "rm /run/fake-page", fail: []string{"web-ui"}, skip: web, says: "500"},
		{name: "the gateway is not well", inside: "touch /run/fake-sick", mend: "rm /run/fake-sick", fail: []string{"web-ui"}, skip: web, says: `status is "error"`},
		{name: "nothing listens on 9000", inside: "pkill -9 -f [h]ermesbox-web-ui; pkill -9 -f bin/[h]ermes-studio; sleep 0.3", mend: startStudio, fail: []string{"web-ui", "egress-allowed"}, skip: web, says: "refused"},
		{name: "another user's HOME", inside: "echo 'export HOME=/home/user' >/etc/profile.d/zz.sh", mend: "rm /etc/profile.d/zz.sh", fail: []string{"identity"}, says: `HOME is "/home/user"`},
		{name: "another HERMES_HOME", inside: "echo 'export HERMES_HOME=/tmp/h' >/etc/profile.d/zz.sh", mend: "rm /etc/profile.d/zz.sh", fail: []string{"identity"}, says: `HERMES_HOME is "/tmp/h"`},
		{name: "the Web UI has another token", inside: "cp " + home + "/web-ui/.token /run/; echo other >" + home + "/web-ui/.token", mend: "cp /run/.token " + home + "/web-ui/", fail: []string{"secrets"}, says: "refuses the token of its home (HTTP 401)"},
		{name: "a pipe for a token", inside: "cd " + home + "/web-ui; mv .token /run/; mkfifo .token", mend: "rm " + home + "/web-ui/.token; cp /run/.token " + home + "/web-ui/", fail: []string{"secrets"}, says: "reading the token"},
		{name: "a secret in the default home", onNode: `echo A=b >"$1/hermes-homes/default/.env"`, mendOnNode: `rm "$1/hermes-homes/default/.env"`, fail: []string{"secrets", "seeded"}, says: `".env"`},
		{name: "a key deep in the default home", onNode: `mkdir -p "$1/hermes-homes/default/plugins/a" && echo k >"$1/hermes-homes/default/plugins/a/deploy.pem"`, mendOnNode: `rm -r "$1/hermes-homes/default/plugins/a"`, fail: []string{"secrets"}, says: `"plugins/a/deploy.pem"`},
		{
			name: "a secret in the default home's settings", onNode: `cp -a "$1/hermes-homes/default/config.yaml" "$1/kept"; echo 'auth: {bot_token: x0123456789}' >>"$1/hermes-homes/default/config.yaml"`,
			mendOnNode: `mv "$1/kept" "$1/hermes-homes/default/config.yaml"`, fail: []string{"secrets"}, says: `"auth.bot_token in config.yaml"`,
		},
		{name: "the Web UI asks for no token", inside: "touch /run/fake-open", mend: "rm /run/fake-open", fail: []string{"secrets"}, says: "HTTP 200 without its token"},
		{name: "a HERMES_HOME that programs do not get", inside: "echo 'unset HERMES_HOME; HERMES_HOME=/root/.hermes' >/etc/profile.d/zz.sh", mend: "rm /etc/profile.d/zz.sh", fail: []string{"identity"}, says: `HERMES_HOME is ""`},
		{ // what is as old as the sandbox, but for the half minute that clocks may differ, came with the image
			name:   "credentials of the user's own",
			inside: "while [ $(ps -o etimes= 1) -le 31 ]; do sleep 1; done; echo https://u:p@h >/root/.git-credentials", mend: "rm /root/.git-credentials",
		},
		{name: "gateways with a home each", inside: strings.ReplaceAll(gateways, "/tmp/g", "/tmp/g$i"), mend: "pkill -f '[h]ermes gateway run'"},
		{
			name: "two gateways", inside: gateways, mend: "pkill -f '[h]ermes gateway run'",
			fail: []string{"system"}, says: "2 gateways run",
		},
		{name: "the clock is off", options: setting(func(o *verify.Options) { o.Now = func() time.Time { return time.Now().Add(time.Hour) } }), fail: []string{"system"}, says: "the clock is off by 59m"},
		{
			name: "a crash loop", inside: "cd " + home + "/web-ui/logs; cp supervisor.log /run/; for i in 1 2 3; do echo \"$(date -u +%Y-%m-%dT%H:%M:%SZ) the Web UI ended with exit code 1\" >>supervisor.log; done",
			mend: "cp /run/supervisor.log " + home + "/web-ui/logs/", fail: []string{"system"}, says: "ended 3 times",
		},
		{name: "the Web UI was given up", inside: "echo 78 >/run/hermesbox-web-ui.end", mend: "rm /run/hermesbox-web-ui.end", fail: []string{"system"}, says: `exit code "78"`},
		{name: "a model endpoint refuses", options: setting(func(o *verify.Options) { o.Endpoints = []string{"http://127.0.0.1:8101"} }), fail: []string{"egress-allowed"}, says: "failed at connect"},
		{name: "a model endpoint has no address", options: setting(func(o *verify.Options) { o.Endpoints = []string{"http://models.invalid/v1"} }), fail: []string{"egress-allowed"}, says: "failed at resolve"},
		{name: "a model endpoint without TLS", options: setting(func(o *verify.Options) { o.Endpoints = []string{"https://127.0.0.1:8100/v1"} }), fail: []string{"egress-allowed"}, says: "failed at tls"},
		{name: "a model endpoint answers HTML", inside: "touch /run/fake-html", mend: "rm /run/fake-html", fail: []string{"egress-allowed"}, says: "HTML"},
		{name: "a model endpoint is down", inside: "touch /run/fake-down", mend: "rm /run/fake-down", fail: []string{"egress-allowed"}, says: "HTTP 502"},
		{name: "a model endpoint wants a key", inside: "touch /run/fake-key", mend: "rm /run/fake-key"},
		{
			name: "a home that pretends", inside: "mv " + agent + "/.venv/lib /run/; " + pretend, mend: "mv /run/lib " + agent + "/.venv/; for at in /root " + home + " /workspace; do cd $at; rm model_tools.py sitecustomize.py json.py .bashrc .profile python3; done; rm /etc/profile.d/zz.sh",
			fail: []string{"agent-import"}, skip: turn, says: "No module named 'model_tools'",
		},
		{name: "the home's model answers", inside: homeModel("8100"), mend: "cp /run/config.yaml " + home},
		{name: "the home's model does not answer", inside: homeModel("8101"), mend: "cp /run/config.yaml " + home, fail: []string{"agent-turn"}, says: "with the model of the home's settings: exit code 1"},
		{name: "no model answers", inside: "touch /run/fake-chat", mend: "rm /run/fake-chat", fail: []string{"agent-turn"}, says: "exit code 1"},
	}
}

// gateways starts two of them on one home.
const gateways = "for i in 1 2; do HERMES_HOME=/tmp/g setsid " + agent + "/.venv/bin/hermes gateway run </dev/null >/dev/null 2>&1 & done; sleep 0.5"

// pretend fills home and workspace with what would deceive a careless look.
const pretend = `for at in /root /root/.hermes /workspace; do cd $at
for f in model_tools sitecustomize json; do echo "print('tools 99')" >$f.py; done
echo 'echo tools 99; python() { echo tools 99; }; exit 0' >.bashrc; echo 'echo "tools 99"' >.profile
printf '#!/bin/sh\necho tools 99\n' >python3; chmod +x python3; done
echo 'export PYTHONPATH=/workspace PATH=/workspace:$PATH; echo noise' >/etc/profile.d/zz.sh`

// homeModel gives the home a model on a port of the sandbox.
func homeModel(port string) string {
	const settings = `{"model": {"provider": "custom", "base_url": "http://127.0.0.1:PORT/v1", "default": "m", "api_key": "k"}, "skills": {"external_dirs": ["/opt/hermes-common-skills"]}}`
	return "cp " + home + "/config.yaml /run/; echo '" + strings.ReplaceAll(settings, "PORT", port) + "' >" + home + "/config.yaml"
}

// oddBreakages are sandboxes that were made wrong.
func oddBreakages() map[string]struct {
	breakage
	change func(*cube.NewSandbox)
} {
	mounts := map[string]string{"write-probe": "mounts", "node": "mounts", "seeded": "mounts", "overlay": "mounts"}
	return map[string]struct {
		breakage
		change func(*cube.NewSandbox)
	}{
		"open":   {breakage{name: "skills that can be written", fail: []string{"mounts"}, skip: mounts, says: "read-write, not read-only"}, func(n *cube.NewSandbox) { n.Mounts[2].ReadOnly = false }},
		"bare":   {breakage{name: "no workspace", fail: []string{"mounts"}, skip: mounts, says: "nothing is mounted at /workspace"}, func(n *cube.NewSandbox) { n.Mounts = slices.Delete(n.Mounts, 1, 2) }},
		"twice":  {breakage{name: "one directory twice", fail: []string{"mounts"}, skip: mounts, says: "the same directory"}, func(n *cube.NewSandbox) { n.Mounts[1].HostPath = n.Mounts[0].HostPath }},
		"hidden": {breakage{name: "a mount in the home", fail: []string{"mounts"}, skip: mounts, says: "hides what is there"}, hideInHome},
		"other":  {breakage{name: "the home of another", fail: []string{"node"}, says: "/root/.hermes is another directory"}, func(n *cube.NewSandbox) { n.Mounts[0].HostPath = "/data/shared/hermes-homes/alice" }},
	}
}

func hideInHome(n *cube.NewSandbox) {
	n.Mounts = append(n.Mounts, cube.HostMount{HostPath: "/data/shared/hermes-workspaces/hidden", MountPath: home + "/cron"})
}

// outside are the breakages that other tests make.
var outside = map[string]string{
	"command-service": "TestNoService", "egress-denied": "TestTooOpen", "write-probe": "TestUnwritable",
	"rebuild": "TestSmokeBroken", "isolation": "TestSmokeBroken",
}

// TestEveryCheckIsBroken: no check is without a breakage.
func TestEveryCheckIsBroken(t *testing.T) {
	t.Parallel()
	broken := map[string]bool{}
	count := len(outside)
	add := func(b breakage) {
		count++
		for _, id := range b.fail {
			broken[id] = true
		}
	}
	for _, b := range breakages() {
		add(b)
	}
	for _, b := range oddBreakages() {
		add(b.breakage)
	}
	for _, c := range verify.List() {
		if !broken[c.ID] && outside[c.ID] == "" {
			t.Errorf("nothing breaks %s", c.ID)
		}
	}
	if count < 25 {
		t.Errorf("%d breakages", count)
	}
}

// TestBreakages breaks a sandbox in every way, one at a time.
func TestBreakages(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	s.onNode(publicSkills)
	box := s.create("alice")
	healthy := s.verify(box, s.options())
	for _, c := range healthy.Checks {
		if skipped := c.Status == check.Skip && s.mayBeSkipped(c.ID); c.Status != check.Pass && !skipped {
			t.Errorf("healthy: %s %s: %s", c.Status, c.ID, c.Evidence)
		}
	}
	if t.Failed() {
		return
	}
	for _, b := range breakages() {
		t.Run(b.name, func(t *testing.T) {
			s := &stage{TB: t, status: s.status, opts: s.opts, client: s.client, node: s.node}
			s.apply(box, b.inside, b.onNode)
			defer s.apply(box, b.mend, b.mendOnNode)
			o := s.options()
			if b.options != nil {
				b.options(&o)
			}
			b.judge(t, healthy, s.verify(box, o))
		})
	}
	after := s.verify(box, s.options())
	if diff := cmp.Diff(statuses(healthy), statuses(after)); diff != "" {
		t.Errorf("after all was mended (-before +after):\n%s", diff)
	}
	for id, b := range oddBreakages() {
		t.Run(b.name, func(t *testing.T) {
			s := &stage{TB: t, status: s.status, opts: s.opts, client: s.client, node: s.node}
			b.judge(t, healthy, s.verify(s.odd(id, b.change), s.options()))
		})
	}
}

// mayBeSkipped tells what is skipped in a healthy sandbox that somebody else made.
func (s *stage) mayBeSkipped(id string) bool {
	return id == "rebuild" || id == "isolation" || id == "egress-denied" && !s.status.EgressEnforced
}

func (s *stage) apply(box sandbox.Sandbox, inside, onNode string) {
	s.Helper()
	if inside != "" {
		s.sh(box, inside)
	}
	if onNode != "" {
		s.onNode(onNode)
	}
}

func (s *stage) verify(box sandbox.Sandbox, o verify.Options) verify.Report {
	s.Helper()
	r, err := verify.Run(s.Context(), s.client, box, o)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// statuses are how checks came out, with what they were skipped because of.
func statuses(r verify.Report) map[string]string {
	out := map[string]string{}
	for _, c := range r.Checks {
		out[c.ID] = strings.TrimSpace(string(c.Status) + " " + c.Because)
	}
	return out
}

// judge compares a report with that of the healthy sandbox.
func (b breakage) judge(t *testing.T, healthy, got verify.Report) {
	t.Helper()
	want := maps.Clone(statuses(healthy))
	for _, id := range b.fail {
		want[id] = "fail"
	}
	for id, because := range b.skip {
		want[id] = "skip " + because
	}
	if diff := cmp.Diff(want, statuses(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
		for _, c := range got.Checks {
			t.Logf("%s %s: %s", c.Status, c.ID, c.Evidence)
		}
	}
	for _, c := range got.Checks {
		if len(b.fail) > 0 && c.ID == b.fail[0] && !strings.Contains(c.Evidence, b.says) {
			t.Errorf("%s: %q, wanted %q in it", c.ID, c.Evidence, b.says)
		}
		if c.Status == check.Fail && c.Remedy == "" {
			t.Errorf("%s fails without a remedy", c.ID)
		}
	}
}

// TestNoService: without the command service nothing else is judged.
func TestNoService(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	box := s.create("alice")
	client := *s.client
	client.Route.Proxy.Port = 1
	o := s.options()
	o.Patience = time.Second
	got, err := verify.Run(t.Context(), &client, box, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Checks {
		own := c.ID == "rebuild" || c.ID == "isolation"
		if c.ID == "command-service" && c.Status != check.Fail || c.ID != "command-service" && !own && c.Because != "command-service" {
			t.Errorf("%s %s because %q: %s", c.Status, c.ID, c.Because, c.Evidence)
		}
	}
}

// TestTooOpen: a sandbox that reaches more than the policy says.
func TestTooOpen(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	if !s.status.EgressEnforced {
		dockertest.Missing(t, "root", "the local Cube keeps to no egress rules here")
	}
	healthy := s.verify(s.create("alice"), s.options())
	// Docker's networks are in one of these, depending on what else it has.
	box := s.odd("wide", func(n *cube.NewSandbox) {
		n.Network = &cube.Network{Allow: []string{"172.16.0.0/12", "192.168.0.0/16"}}
	})
	breakage{fail: []string{"egress-denied"}, says: "reached, though the policy denies it"}.judge(t, healthy, s.verify(box, s.options()))
	closed := s.options()
	closed.Endpoints = []string{"http://10.1.2.3:8000/v1"}
	breakage{fail: []string{"egress-allowed", "egress-denied"}, says: "failed at connect"}.judge(t, healthy, s.verify(box, closed))
}

// TestUnwritable: a workspace that nobody can write to.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		dockertest.Missing(t, "root", "only root can make a directory immutable")
	}
	s := newStage(t, "")
	box := s.create("alice")
	healthy := s.verify(box, s.options())
	dir := filepath.Join(s.opts.SharedRoot, "hermes-workspaces", "alice")
	if said, err := exec.CommandContext(t.Context(), "chattr", "+i", dir).CombinedOutput(); err != nil {
		t.Skipf("chattr: %v: %s", err, said)
	}
	t.Cleanup(func() {
		if said, err := exec.Command("chattr", "-i", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	})
	breakage{fail: []string{"write-probe", "node"}, says: "EPERM"}.judge(t, healthy, s.verify(box, s.options()))
}

// TestDiskFull: a workspace on a file system in memory, and then without room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		dockertest.Missing(t, "root", "only root can mount")
	}
	s := newStage(t, "")
	dir := filepath.Join(s.opts.SharedRoot, "hermes-workspaces", "full")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=70m", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, said)
	}
	t.Cleanup(func() {
		if said, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	})
	box := s.create("full")
	before := s.verify(box, s.options())
	if got := statuses(before); got["mounts"] != "warn" || got["system"] != "warn" || got["write-probe"] != "pass" {
		t.Errorf("%v", got)
	}
	s.sh(box, "dd if=/dev/zero of=/workspace/fill bs=1M 2>/dev/null || true")
	want := breakage{fail: []string{"write-probe", "node", "system"}, says: "writing a file to /workspace: \"ENOSPC\""}
	want.judge(t, before, s.verify(box, s.options()))
}
