package skills

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hermesbox/hermesbox/internal/check"
)

// rules are what Lint judges, in this order.
var rules = []struct{ id, title string }{
	{"source", "the directory holds skills"},
	{"skill", "each is a directory with a SKILL.md"},
	{"name", "names are such as Hermes takes"},
	{"unique", "no two names are one where case does not count"},
	{"frontmatter", "the frontmatter can be read"},
	{"description", "each says what it is for"},
	{"shown", "Hermes lists each in a sandbox"},
	{"text", "each SKILL.md is UTF-8"},
	{"size", "no file is larger than Hermes writes"},
	{"paths", "names of files can be carried"},
	{"links", "no link leaves its skill"},
	{"special", "there are files, directories and links only"},
	{"litter", "nothing has to be left out"},
	{"bundled", "no name is that of a skill of Hermes, or of a directory of them"},
}

// namePattern and nameLimit are those of Hermes 0.19.0.
var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

const (
	nameLimit        = 64
	descriptionLimit = 1024
)

// skipped are directories that Hermes 0.19.0 does not look into.
var skipped = map[string]bool{"venv": true, "node_modules": true, "site-packages": true}

// judge adds what is wrong with the skills as such.
func (s *Set) judge() {
	if len(s.Skills) == 0 {
		s.Problems = append(s.Problems, Problem{
			Rule: "source", Where: quoted(s.Dir), Text: "holds no skill", Remedy: "make a directory with a SKILL.md in it, or name another directory in skills.source",
		})
	}
	folded := map[string]string{}
	for _, skill := range s.Skills {
		skill.problems = nil
		skill.judgeName()
		if first, ok := folded[strings.ToLower(skill.Name)]; ok {
			skill.fail("unique", "", "is "+quoted(first)+" where case does not count", "rename one of them")
		}
		folded[strings.ToLower(skill.Name)] = skill.Name
		skill.judgeHead()
		s.Problems = append(s.Problems, skill.problems...)
	}
}

func (s *Skill) judgeName() {
	switch {
	case !namePattern.MatchString(s.Name):
		s.fail("name", "", "no name for a skill", "use small letters, digits, dot, dash and underscore, the first a letter or digit")
	case len(s.Name) > nameLimit:
		s.fail("name", "", fmt.Sprintf("%d characters; at most %d are allowed", len(s.Name), nameLimit), "choose a shorter one")
	case skipped[s.Name]:
		s.fail("name", "", "Hermes does not look into a directory of this name", "choose another")
	}
}

// judgeHead is about SKILL.md.
func (s *Skill) judgeHead() {
	switch {
	case s.head == nil && s.nested():
		s.fail("skill", "", "has no SKILL.md, but skills below it", "move them up: public skills have no categories")
	case s.head == nil:
		s.fail("skill", "", "has no SKILL.md", "write one, or move the directory away")
	case len(s.head) == 0:
		s.fail("skill", "SKILL.md", "is empty", "write what the agent is to know")
	case utf8.RuneCount(s.head) > headLimit:
		s.fail("size", "SKILL.md", fmt.Sprintf("more than %d characters", headLimit), "move parts of it into files under references/")
	case !utf8.Valid(s.head) || bytes.ContainsRune(s.head, 0):
		s.fail("text", "SKILL.md", "is no UTF-8 text", "save it as UTF-8")
	default:
		s.judgeFront()
	}
}

// nested tells whether it is a category.
func (s *Skill) nested() bool {
	for _, f := range s.Files {
		if strings.HasSuffix(f.Path, "/SKILL.md") {
			return true
		}
	}
	return false
}

func (s *Skill) judgeFront() {
	const at = "SKILL.md"
	front, err := ParseFrontmatter(s.head)
	if errors.Is(err, errMarkFront) {
		s.fail("frontmatter", at, err.Error(), "save it as UTF-8 without one")
		return
	}
	if err != nil {
		s.fail("frontmatter", at, "its frontmatter "+err.Error(), "begin the file with --- lines around name and description, in YAML")
		return
	}
	if odd := front.Odd["name"]; odd != "" {
		s.fail("frontmatter", at, "name "+odd, "write name: "+s.Name)
	} else if front.Name != s.Name {
		s.fail("name", at, fmt.Sprintf("its name is %q", front.Name), "name it as its directory")
	}
	switch odd := front.Odd["description"]; {
	case odd != "":
		s.fail("description", at, "description "+odd, "say in a sentence when the agent should use it")
	case strings.TrimSpace(front.Description) == "":
		s.fail("description", at, "description is empty", "say in a sentence when the agent should use it")
	case utf8.RuneCountInString(front.Description) > descriptionLimit:
		s.fail("description", at, fmt.Sprintf("description has more than %d characters", descriptionLimit), "shorten it; the agent's index shows the first 60")
	}
	s.judgeGates(front)
}

// judgeGates is about skills that Hermes 0.19.0 does not list in a sandbox. Names of
// environments that it does not know hide nothing.
func (s *Skill) judgeGates(front Frontmatter) {
	const at = "SKILL.md"
	begins := func(word string) bool { return strings.HasPrefix("linux", word) }
	if platforms := front.Gates["platforms"]; len(platforms) > 0 && !slices.ContainsFunc(platforms, begins) {
		s.warn("shown", at, "is for "+quoted(strings.Join(platforms, ", "))+" only, and a sandbox is linux", "name linux among its platforms, or leave the skill away")
	}
	known := func(word string) bool { return word == "kanban" || word == "docker" || word == "s6" }
	if all := front.Gates["environments"]; len(all) > 0 && !slices.ContainsFunc(all, func(word string) bool { return !known(word) }) {
		s.warn("shown", at, "is listed in the environments "+quoted(strings.Join(all, ", "))+" only", "leave environments away to have it listed always")
	}
}

func (p Problem) status() check.Status {
	if p.Warn {
		return check.Warn
	}
	return check.Fail
}

// shown is how many problems of a rule are told.
const shown = 20

// Lint judges a set, against the names of Hermes's own skills.
func Lint(s *Set, own Bundled) []check.Check {
	problems := append(s.Problems[:len(s.Problems):len(s.Problems)], own.collisions(s)...)
	checks := make([]check.Check, 0, len(rules))
	for _, rule := range rules {
		c := check.Check{ID: rule.id, Title: rule.title, Status: check.Pass, Evidence: rule.title}
		var told []string
		for _, p := range problems {
			if p.Rule != rule.id {
				continue
			}
			if status := p.status(); status != c.Status && c.Status != check.Fail {
				c.Status, c.Remedy = status, p.Remedy
			}
			told = append(told, p.Where+": "+p.Text)
		}
		if extra := len(told) - shown; extra > 0 {
			told = append(told[:shown], fmt.Sprintf("and %d more", extra))
		}
		if len(told) > 0 {
			c.Evidence = strings.Join(told, "; ")
		}
		if rule.id == "source" && c.Status == check.Pass {
			c.Evidence = fmt.Sprintf("%d skills", len(s.Skills))
		}
		if rule.id == "bundled" && len(told) == 0 {
			c.Evidence = "none is among the " + own.String()
		}
		checks = append(checks, c)
	}
	return checks
}
