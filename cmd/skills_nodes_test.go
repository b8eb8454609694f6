package cmd_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// skillsTest is nodesTest with a source of skills.
type skillsTest struct {
	*nodesTest
	source string
}

func newSkillsTest(t *testing.T, nodes string) *skillsTest {
	t.Helper()
	s := &skillsTest{newNodesTest(t, nodes), t.TempDir()}
	s.skill("one", "first")
	s.skill("two", "first")
	return s
}

func (s *skillsTest) skill(name, body string) {
	s.Helper()
	path := filepath.Join(s.source, name, "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("---\nname: "+name+"\ndescription: For tests.\n---\n"+body+"\n"), 0o600); err != nil {
		s.Fatal(err)
	}
}

// deploy runs skills deploy and wants a code, and words in what it prints.
func (s *skillsTest) deploy(code int, stdout, stderr string, args ...string) {
	s.Helper()
	s.want(code, stdout, stderr, append([]string{"skills", "deploy", s.source}, args...)...)
}

// repository makes the source one of git, with these settings.
func (s *skillsTest) repository(settings string) {
	s.Helper()
	git := filepath.Join(s.source, ".git")
	err := errors.Join(
		os.MkdirAll(filepath.Join(git, "objects"), 0o755), os.Mkdir(filepath.Join(git, "refs"), 0o755),
		os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600),
		os.WriteFile(filepath.Join(git, "config"), []byte(settings), 0o600))
	if err != nil {
		s.Fatal(err)
	}
}

// public is a file among the public skills of the node.
func (s *skillsTest) public(name string) string {
	return filepath.Join(s.root, "hermes-common-skills", name)
}

func (s *skillsTest) read(path string) string {
	s.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		s.Error(err)
	}
	return string(text)
}

// TestSkillsDeploy: over one SSH connection, what changed, and again nothing.
func TestSkillsDeploy(t *testing.T) {
	t.Parallel()
	s := newSkillsTest(t, "- {name: one, ssh: SERVER}\n")
	s.deploy(0, "one  add  two  1 files, ", "node one: 0 skills are there as they are here", "--dry-run")
	if _, err := os.Stat(filepath.Join(s.root, ".hermesbox-skills")); err == nil {
		t.Error("--dry-run made something")
	}
	connections := s.server.Connections()
	s.deploy(0, "one  add  one  1 files, ", "node one: 0 skills unchanged, ")
	if n := s.server.Connections() - connections; n != 1 {
		t.Errorf("%d connections", n)
	}
	s.deploy(0, "", "node one: nothing changed, 2 skills")
	s.repository("[core\n")
	s.deploy(0, "", "warning: the ledger will name no revision: git does not tell the revision: fatal: bad config line")
	info, err := os.Stat(s.public("one/SKILL.md"))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(s.public("one/SKILL.md"), []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(5, "one   2 ", "changed since they were deployed: one; skills deploy puts them right", "skills", "status")
	s.deploy(0, "one  repair  one", "what was changed there is kept in "+s.root+"/.hermesbox-skills/kept")
	if err := os.Mkdir(s.public("three"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.skill("three", "x")
	s.skill("one", "second")
	s.deploy(5, "one  conflict  three", "untouched: node one has something else named three")
	if !strings.Contains(s.read(s.public("one/SKILL.md")), "second") {
		t.Error("the others were not deployed")
	}
	s.want(5, `"others": [`, `{"error":"sandbox ann: `, "--output", "json", "skills", "status") // whose Cube knows no sandbox by its id
	s.skill("Four", "x")
	s.deploy(1, "", "skills lint "+s.source+" tells all that is wrong; nothing was sent")
}

// TestSkillsDeployInPart: a node that fails keeps no other.
func TestSkillsDeployInPart(t *testing.T) {
	t.Parallel()
	s := newSkillsTest(t, "- {name: one, ssh: SERVER}\n- {name: off, ssh: \"root@127.0.0.1:1\"}\n")
	s.deploy(5, "one  add  one", "node off: ")
	s.want(5, "one   2 ", "node off", "skills", "status")
	s.deploy(0, "", "nothing changed", "--node", "one")
	got := s.run("--output", "json", "skills", "deploy", s.source)
	var done []struct {
		Node, Error string
		Actions     []any
		Same        int
	}
	if err := json.Unmarshal([]byte(got.stdout), &done); err != nil || got.code != 5 || len(done) != 2 || done[0].Same != 2 || done[1].Error == "" || done[1].Actions == nil {
		t.Errorf("exit code %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
}

// TestSkillsDeployRefused: what is wrong on a node comes with the next step.
func TestSkillsDeployRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(s *skillsTest) error
		words string
	}{
		"newer":  {func(s *skillsTest) error { return s.ledger(`{"version":9}` + "\n") }, "hint: deploy with that version of hermesbox"},
		"broken": {func(s *skillsTest) error { return s.ledger("\n") }, "hint: nothing was touched. Move the ledger away"},
		"link": {func(s *skillsTest) error {
			if err := os.RemoveAll(s.public("")); err != nil {
				return err
			}
			return os.Symlink(s.source, s.public(""))
		}, "hint: see who made it and where it leads"},
		"lock": {func(s *skillsTest) error {
			lock := filepath.Join(s.root, ".hermesbox-skills/lock")
			if err := os.Remove(lock); err != nil {
				return err
			}
			return os.Mkdir(lock, 0o700)
		}, "hint: see on the node what it is"},
		"no root": {func(s *skillsTest) error { return os.RemoveAll(s.root) }, "hint: hermesbox node prepare makes it"},
		"file": {func(s *skillsTest) error {
			if err := os.RemoveAll(s.public("")); err != nil {
				return err
			}
			return os.WriteFile(s.public(""), nil, 0o600)
		}, "hint: move it away on the node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSkillsTest(t, "- {name: one, ssh: SERVER}\n")
			s.deploy(0, "", "")
			if err := test.spoil(s); err != nil {
				t.Fatal(err)
			}
			s.deploy(1, "", test.words)
		})
	}
}

// TestSkillsDeployLogin: a node that lets nobody in.
func TestSkillsDeployLogin(t *testing.T) {
	t.Parallel()
	s := newSkillsTest(t, "- {name: one, ssh: SERVER}\n")
	if err := os.WriteFile(s.server.AuthorizedKeys(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.deploy(4, "", "hint: put one of these keys into the authorized_keys")
}

func (s *skillsTest) ledger(text string) error {
	return os.WriteFile(filepath.Join(s.root, ".hermesbox-skills", "ledger.json"), []byte(text), 0o600)
}
