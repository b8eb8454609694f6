package cmd_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// skillBox is a local Cube with a real Hermes in its sandbox, and a source of
// public skills.
type skillBox struct{ *boxTest }

// newSkillBox builds the image; what it is made of is mostly in the Engine's cache.
func newSkillBox(t *testing.T, tag string) *skillBox {
	t.Helper()
	b := &skillBox{newBoxes(t)}
	hermesSource(t, b.dir)
	b.engine.RemoveImage(t, tag)
	image := must(t, b.dir, b.engine, append([]string{"build", "-t", tag, "source"}, buildFlags(t)...)...)
	b.write("hermesbox.yaml", "source: source\nskills: {source: public}\n")
	b.ask("template", "create", "--image", image)
	return b
}

func (b *skillBox) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a skill is public
		b.Fatal(err)
	}
}

func (b *skillBox) skill(name, body string) {
	b.Helper()
	b.write("public/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: For tests.\n---\n"+body+"\n")
}

// in runs a command line in the sandbox.
func (b *skillBox) in(line string) string {
	b.Helper()
	return b.ask("sandbox", "exec", "alice", "--", "sh", "-c", line)
}

// listed wants Hermes to list each of the names once.
func (b *skillBox) listed(names ...string) {
	b.Helper()
	list := b.in("COLUMNS=200 hermes skills list")
	for _, name := range names {
		if n := strings.Count(list, "│ "+name+" "); n != 1 {
			b.Errorf("%s is listed %d times\n%s", name, n, list)
		}
	}
}

// manage has the agent's own tool edit a skill, and returns what it said.
func (b *skillBox) manage(call string) string {
	b.Helper()
	return b.in("cd /opt/hermes-agent && HERMES_HOME=/root/.hermes .venv/bin/python -c '" +
		"from tools.skill_manager_tool import skill_manage; print(skill_manage(" + call + "))' 2>&1; true")
}

// gatewayStart starts a gateway until it has copied Hermes's own skills, and
// counts those.
const gatewayStart = `cd /opt/hermes-agent
HERMES_HOME=/root/.hermes timeout -s INT 240 .venv/bin/hermes gateway run >/tmp/gateway.log 2>&1 &
for i in $(seq 400); do [ -s /root/.hermes/skills/.bundled_manifest ] && break; sleep 0.5; done
kill -INT $!; wait
cat /root/.hermes/skills/.bundled_manifest 2>/dev/null | wc -l`

// TestSkillsHermes goes through the life of public and private skills with a
// real Hermes.
func TestSkillsHermes(t *testing.T) {
	t.Parallel()
	b := newSkillBox(t, "hermesbox-test/skills:latest")
	b.skill("lab-notes", "ten minutes")
	b.skill("short-lived", "x")
	b.run(0, "skills", "deploy")
	made := b.run(0, "sandbox", "create", "--home", "alice", "--workspace", "team", "--no-web-ui")
	if !strings.Contains(made.stderr, "step 7/10 skills: 2 linked, 0 linked before, 0 kept private") {
		t.Errorf("create: %s", made.stderr)
	}
	b.in(`cd /root/.hermes/skills; mkdir -p mine tools/deep; printf -- '---\nname: mine\ndescription: private\n---\nmy own\n' >mine/SKILL.md
printf -- '---\nname: tucked\ndescription: private\n---\nmy own\n' >tools/deep/SKILL.md`)
	const private = `cd /root/.hermes/skills; find mine tools/deep -type f -exec sha256sum {} + -exec stat -c '%n %Y %a' {} + | sort`
	before := b.in(private)
	b.listed("lab-notes", "short-lived", "mine", "tucked")

	// A new public skill, two whose names are private, new content, and one that is gone.
	b.skill("mine", "everybody's")
	b.skill("tucked", "everybody's")
	b.skill("fresh", "x")
	b.skill("lab-notes", "five minutes")
	if err := os.RemoveAll(filepath.Join(b.dir, "public", "short-lived")); err != nil {
		t.Fatal(err)
	}
	b.run(0, "skills", "deploy")
	if got := b.in("cat /root/.hermes/skills/lab-notes/SKILL.md"); !strings.Contains(got, "five minutes") {
		t.Errorf("without a refresh: %s", got)
	}
	status := b.run(0, "skills", "status").stdout
	if !strings.Contains(status, "mine, tucked  fresh    short-lived") {
		t.Errorf("status:\n%s", status)
	}
	want := "alice  linked             fresh\nalice  removed            short-lived\nalice  private            mine\nalice  private elsewhere  tucked\n"
	if got := b.run(0, "skills", "refresh", "alice"); got.stdout != want {
		t.Errorf("refresh:\n%s", got.stdout)
	}
	b.listed("lab-notes", "fresh", "mine", "tucked")

	// The agent cannot write to what is shared, by link or by name.
	shared := b.in("cat /opt/hermes-common-skills/lab-notes/SKILL.md")
	for call, words := range map[string]string{
		`action="patch", name="lab-notes", old_string="five", new_string="nine"`:                         "Read-only file system",
		`action="create", name="lab-notes", content="---\nname: lab-notes\ndescription: d\n---\nmine\n"`: "already exists at",
		`action="delete", name="lab-notes"`:                                                              "",
		`action="write_file", name="fresh", file_path="scripts/x", file_content="x"`:                     "Read-only file system",
		`action="patch", name="mine", old_string="my own", new_string="my own", replace_all=True`:        "",
	} {
		if got := b.manage(call); !strings.Contains(got, words) {
			t.Errorf("%s: %s", call, got)
		}
	}
	if after := b.in("cat /opt/hermes-common-skills/lab-notes/SKILL.md; ls /opt/hermes-common-skills/fresh"); after != shared+"\nSKILL.md" {
		t.Errorf("the shared skill is now %q", after)
	}

	// A gateway start copies Hermes's own skills into the home.
	if n := b.in(gatewayStart); n != "73" {
		t.Errorf("%s skills of Hermes's own\n%s", n, b.in("tail -n 20 /tmp/gateway.log"))
	}
	if got := b.run(0, "skills", "refresh", "--all").stderr; !strings.Contains(got, "alice: 0 linked, 2 linked before, 2 kept private") {
		t.Errorf("after a gateway start: %s", got)
	}
	b.listed("lab-notes", "fresh", "mine", "tucked", "dogfood")

	// An upgrade of Hermes and a removal of the public one change nothing that is private.
	b.in("cd /opt/hermes-agent && HERMES_HOME=/root/.hermes .venv/bin/python tools/skills_sync.py")
	if err := os.RemoveAll(filepath.Join(b.dir, "public", "mine")); err != nil {
		t.Fatal(err)
	}
	b.run(0, "skills", "deploy")
	b.run(0, "skills", "refresh", "alice")
	b.run(0, "sandbox", "rebuild", "alice", "--no-web-ui")
	if after := b.in(private); after != before {
		t.Errorf("private skills were\n%s\nand are\n%s", before, after)
	}
	if got := b.in("find /root/.hermes/skills -maxdepth 1 -type l ! -exec test -e {} \\; -print"); got != "" {
		t.Errorf("links that lead nowhere: %s", got)
	}
}

// TestSkillsOddHomes: homes whose directory of skills cannot be linked to, and
// a sandbox that was made without public skills.
func TestSkillsOddHomes(t *testing.T) {
	t.Parallel()
	b := &skillBox{newBoxes(t)}
	b.image("hermesbox-test/skills-odd:1", "LABEL odd=skills\n")
	b.write("hermesbox.yaml", "skills: {source: public}\n")
	b.skill("one", "x")
	b.ask("template", "create", "--image", "hermesbox-test/skills-odd:1")
	b.run(0, "skills", "deploy")
	b.run(0, "sandbox", "create", "--home", "alice", "--workspace", "team", "--no-web-ui")
	for name, test := range map[string]struct{ spoil, words string }{
		"a link": {"mkdir /workspace/s; ln -s /workspace/s skills", "skills is a link, which is not followed"},
		"a file": {"echo x >skills", "skills is no directory"},
	} {
		b.in("cd /root/.hermes; rm -rf skills; " + test.spoil)
		if got := b.run(1, "skills", "refresh", "alice"); !strings.Contains(got.stderr, test.words) || !strings.Contains(got.stderr, "hint: put it right in the home") {
			t.Errorf("%s: %s", name, got.stderr)
		}
		if got := b.run(0, "sandbox", "rebuild", "alice", "--no-web-ui"); !strings.Contains(got.stderr, test.words) || !strings.Contains(got.stderr, "step 7/10 skills: none linked") {
			t.Errorf("%s, rebuilt: %s", name, got.stderr)
		}
	}
	if got := b.run(1, "skills", "refresh", b.bare()); !strings.Contains(got.stderr, "has no public skills mounted") || !strings.Contains(got.stderr, "hint: an old sandbox cannot gain a mount") {
		t.Errorf("without the mount: %s", got.stderr)
	}
	b.in("cd /root/.hermes; rm -rf skills; mkdir skills; echo 'model: x' >config.yaml")
	if got := b.run(0, "skills", "refresh", "alice"); !strings.Contains(got.stdout, "linked  one") || !strings.Contains(got.stderr, "config.yaml does not name /opt/hermes-common-skills") {
		t.Errorf("put right: %s%s", got.stdout, got.stderr)
	}
	if got := b.in("cat /root/.hermes/config.yaml"); got != "model: x" {
		t.Errorf("config.yaml is now %q", got)
	}
}

// bare makes a sandbox as others do, without mounts, and returns its id.
func (b *skillBox) bare() string {
	b.Helper()
	var status struct {
		URL string `json:"api_url"`
	}
	var listed []struct {
		ID string `json:"id"`
	}
	var made struct {
		ID string `json:"sandboxID"`
	}
	err := errors.Join(
		json.Unmarshal([]byte(b.ask("local", "status", "--output", "json")), &status),
		json.Unmarshal([]byte(b.ask("template", "ls", "--output", "json")), &listed))
	if err != nil || len(listed) == 0 {
		b.Fatalf("%+v, %v", listed, err)
	}
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, status.URL+"/sandboxes", strings.NewReader(`{"templateID": "`+listed[0].ID+`", "timeout": 600}`))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", "any")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || made.ID == "" {
		b.Fatalf("HTTP %d: %+v, %v", res.StatusCode, made, err)
	}
	return made.ID
}
