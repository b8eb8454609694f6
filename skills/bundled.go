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
	// names are true for those that only some homes have; categories are those
	// that lie in a directory below skills/, with which a link of the name would
	// lead into the public skills.
	names, categories map[string]bool
}

// builtIn are the names of a release, "bundled", "optional", "category" or
// "optional-category" before each.
//
//go:embed bundled.txt
var builtIn string

// builtInRelease is the one that bundled.txt is of.
const builtInRelease = "0.19.0"

// BuiltIn are the names of Hermes 0.19.0.
func BuiltIn() Bundled {
	b := newBundled("Hermes " + builtInRelease)
	for line := range strings.Lines(builtIn) {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		into := b.names
		if strings.HasSuffix(kind, "category") {
			into = b.categories
		}
		add(into, name, strings.HasPrefix(kind, "optional"))
	}
	return b
}

// BundledOf are the names in a checkout of Hermes; ok tells that it has some.
func BundledOf(source string) (b Bundled, ok bool) {
	b = newBundled(source)
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
		add(b.names, path.Base(path.Dir(at)), optional)
		if below := strings.Split(at, "/"); len(below) > 3 {
			add(b.categories, below[1], optional)
		}
		if text, err := fs.ReadFile(tree, at); err == nil {
			if front, err := ParseFrontmatter(text); err == nil {
				add(b.names, front.Name, optional)
			}
		}
		return nil
	})
}

func newBundled(from string) Bundled {
	return Bundled{From: from, names: map[string]bool{}, categories: map[string]bool{}}
}

// add keeps what every home has.
func add(to map[string]bool, name string, optional bool) {
	if had, ok := to[name]; name != "" && (!ok || had) {
		to[name] = optional
	}
}

// String says how many names there are, and of what.
func (b Bundled) String() string { return fmt.Sprintf("%d names of %s", len(b.names), b.From) }

// collisions are the skills that have such a name.
func (b Bundled) collisions(s *Set) []Problem {
	var found []Problem
	for _, skill := range s.Skills {
		optional, ok := b.names[skill.Name]
		rare, category := b.categories[skill.Name]
		switch {
		case ok && optional && (!category || rare):
			found = append(found, Problem{
				Rule: "bundled", Where: quoted(skill.Name), Text: "an optional skill of " + b.From + " has this name", Warn: true,
				Remedy: "choose another, or homes that install that skill have two",
			})
		case ok && !optional:
			found = append(found, Problem{
				Rule: "bundled", Where: quoted(skill.Name), Text: "a skill that comes with " + b.From + " has this name",
				Remedy: "choose another: Hermes would replace one by the other",
			})
		case category:
			found = append(found, Problem{
				Rule: "bundled", Where: quoted(skill.Name), Text: "a directory of skills of " + b.From + " has this name", Warn: rare,
				Remedy: "choose another: Hermes could not write its own skills there",
			})
		}
	}
	return found
}
