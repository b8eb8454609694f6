package skills

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Bundled are the names of Hermes's own skills, which it copies into every home.
type Bundled struct {
	// From is where they were read.
	From string
	// names are true for those that only some homes have.
	names map[string]bool
}

// builtIn are the names of a release, "bundled" or "optional" before each.
//
//go:embed bundled.txt
var builtIn string

// builtInRelease is the one that bundled.txt is of.
const builtInRelease = "0.19.0"

// BuiltIn are the names of Hermes 0.19.0.
func BuiltIn() Bundled {
	b := Bundled{From: "Hermes " + builtInRelease, names: map[string]bool{}}
	for line := range strings.Lines(builtIn) {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		b.add(name, kind == "optional")
	}
	return b
}

// BundledOf are the names in a checkout of Hermes; ok tells that it has some.
func BundledOf(source string) (b Bundled, ok bool) {
	b = Bundled{From: source, names: map[string]bool{}}
	tree := os.DirFS(source)
	b.addBelow(tree, "skills", false)
	ok = len(b.names) > 0
	b.addBelow(tree, "optional-skills", true)
	return b, ok
}

// addBelow adds the skills of a directory, by their directory and by what they
// call themselves. What cannot be read names nothing.
func (b Bundled) addBelow(tree fs.FS, dir string, optional bool) {
	_ = fs.WalkDir(tree, dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != "SKILL.md" {
			return nil //nolint:nilerr // an unreadable directory names nothing
		}
		b.add(path.Base(path.Dir(at)), optional)
		if text, err := fs.ReadFile(tree, at); err == nil {
			if front, err := ParseFrontmatter(text); err == nil {
				b.add(front.Name, optional)
			}
		}
		return nil
	})
}

func (b Bundled) add(name string, optional bool) {
	if had, ok := b.names[name]; name != "" && (!ok || had) {
		b.names[name] = optional
	}
}

// String says how many names there are, and of what.
func (b Bundled) String() string { return fmt.Sprintf("%d names of %s", len(b.names), b.From) }

// collisions are the skills that have such a name.
func (b Bundled) collisions(s *Set) []Problem {
	var found []Problem
	for _, skill := range s.Skills {
		optional, ok := b.names[skill.Name]
		switch {
		case ok && optional:
			found = append(found, Problem{
				Rule: "bundled", Where: quoted(skill.Name), Text: "an optional skill of " + b.From + " has this name", Warn: true,
				Remedy: "choose another, or homes that install that skill have two",
			})
		case ok:
			found = append(found, Problem{
				Rule: "bundled", Where: quoted(skill.Name), Text: "a skill that comes with " + b.From + " has this name",
				Remedy: "choose another: Hermes would replace one by the other",
			})
		}
	}
	return found
}
