package skills

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/hermesbox/hermesbox/buildctx"
)

// Set is a directory of skills, as it was read.
type Set struct {
	Dir    string
	Skills []*Skill // by name
	// Problems are what the rules of Lint say, those that Load itself found first.
	Problems []Problem
}

// Skill is one directory of a Set, without what is left out.
type Skill struct {
	Name     string
	Files    []File // by path
	Digest   string // sha256 in hex of its listing
	Bytes    int64
	head     []byte // SKILL.md; nil where it has none
	problems []Problem
}

// File is a file or a link of a skill.
type File struct {
	Path string // slash-separated, below the skill
	Size int64
	Exec bool
	Sum  string // sha256 in hex; empty for a link
	Link string // where a link leads; empty for a file
}

// Problem is a rule that something breaks.
type Problem struct {
	Rule   string
	Where  string // quoted where it needs to be
	Text   string
	Remedy string
	Warn   bool // it can be deployed all the same
}

// ErrNoDir means that the directory of skills cannot be read.
var ErrNoDir = errors.New("no directory of skills")

// Load reads a directory of skills, each file of which it hashes. What breaks a
// rule is no error but among the Problems; the error wraps ErrNoDir.
func Load(dir string) (*Set, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDir, err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDir, err)
	}
	s := &Set{Dir: root}
	for _, e := range entries {
		s.add(e)
	}
	var work errgroup.Group
	work.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for _, skill := range s.Skills {
		work.Go(func() error { return skill.read(filepath.Join(root, skill.Name)) })
	}
	if err := work.Wait(); err != nil {
		return nil, fmt.Errorf("reading skills: %w", err)
	}
	for _, skill := range s.Skills {
		s.Problems = append(s.Problems, skill.problems...)
	}
	s.judge()
	return s, nil
}

// add takes an entry of the directory for a skill, or says what else it is.
func (s *Set) add(e os.DirEntry) {
	name := e.Name()
	problem := Problem{Where: quoted(name)}
	switch {
	case buildctx.IsLitter(name, true):
		problem.Rule, problem.Text, problem.Remedy, problem.Warn = "litter", "left out", remedyLitter, true
	case name == ".git" || name == ".gitignore" || name == ".gitattributes" || name == ".gitkeep":
		return
	case e.Type()&os.ModeSymlink != 0:
		problem.Rule, problem.Text, problem.Remedy = "links", "a link in place of a skill", "put the skill itself there"
	case e.IsDir():
		s.Skills = append(s.Skills, &Skill{Name: name})
		return
	case name == "SKILL.md":
		problem.Rule, problem.Text, problem.Remedy = "skill", "no skill lies right here", "name the directory that holds skills, or move it into a directory of the skill's name"
	case e.Type().IsRegular():
		problem.Rule, problem.Text, problem.Warn = "skill", "a file beside the skills; left out", true
	default:
		problem.Rule, problem.Text, problem.Remedy = "special", "neither file nor directory", "remove it"
	}
	s.Problems = append(s.Problems, problem)
}
