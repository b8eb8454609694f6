package skills

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermesbox/hermesbox/buildctx"
)

// The limits of Hermes 0.19.0 for what an agent writes.
const (
	headLimit = 100_000 // characters of SKILL.md
	fileLimit = 1 << 20 // bytes of any other file
)

const remedyLitter = "hermesbox never deploys it; remove it where it is in the way"

// leftOut are directories of a skill that other programs make on each machine.
var leftOut = map[string]bool{".git": true, "__pycache__": true}

// read takes in the files of a skill.
func (s *Skill) read(dir string) error {
	err := filepath.WalkDir(dir, func(full string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if full == dir {
			return nil
		}
		rel, err := filepath.Rel(dir, full)
		if err != nil {
			return err
		}
		return s.take(full, filepath.ToSlash(rel), e)
	})
	s.Digest = digest(s.listing())
	return err
}

// take takes in one entry, or says why not.
func (s *Skill) take(full, rel string, e fs.DirEntry) error {
	var skip error
	if e.IsDir() {
		skip = fs.SkipDir
	}
	switch {
	case buildctx.IsLitter(e.Name(), false):
		s.warn("litter", rel, "left out", remedyLitter)
		return skip
	case e.IsDir() && leftOut[e.Name()]:
		s.warn("litter", rel, "left out", "")
		return skip
	case badPath(rel):
		s.fail("paths", rel, "its name cannot be carried everywhere", "use UTF-8 without control characters and backslashes, at most 200 bytes of path")
		return skip
	case e.IsDir():
		return nil
	case e.Type()&fs.ModeSymlink != 0:
		return s.takeLink(full, rel)
	case !e.Type().IsRegular():
		s.fail("special", rel, "neither file, directory nor link", "remove it")
		return nil
	}
	return s.takeFile(full, rel, e)
}

func (s *Skill) takeFile(full, rel string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	if rel != "SKILL.md" && info.Size() > fileLimit {
		s.fail("size", rel, fmt.Sprintf("%d bytes; at most %d are allowed", info.Size(), fileLimit), "keep large files elsewhere, such as in /workspace")
		return nil
	}
	f := File{Path: rel, Exec: info.Mode()&0o100 != 0}
	head, err := f.hash(full, rel == "SKILL.md")
	if err != nil {
		return err
	}
	if rel == "SKILL.md" {
		s.head, s.headSize = head, f.Size
	}
	s.Files = append(s.Files, f)
	s.Bytes += f.Size
	return nil
}

// hash fills in size and sum, and returns the head of the file where that is wanted.
func (f *File) hash(full string, wanted bool) (head []byte, err error) {
	in, err := os.Open(full)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	sum := sha256.New()
	if wanted {
		// No character takes more bytes than utf8.UTFMax.
		if head, err = io.ReadAll(io.LimitReader(in, headLimit*utf8.UTFMax+1)); err != nil {
			return nil, err
		}
		if head == nil {
			head = []byte{}
		}
	}
	if f.Size, err = io.Copy(sum, io.MultiReader(bytes.NewReader(head), in)); err != nil {
		return nil, err
	}
	f.Sum = hex.EncodeToString(sum.Sum(nil))
	return head, nil
}

// takeLink takes in a link that stays in the skill and leads to something.
func (s *Skill) takeLink(full, rel string) error {
	to, err := os.Readlink(full)
	if err != nil {
		return err
	}
	inside := path.Join(s.Name, path.Dir(rel), filepath.ToSlash(to))
	switch _, err := os.Stat(full); {
	case path.IsAbs(to) || inside != s.Name && !strings.HasPrefix(inside, s.Name+"/"):
		s.fail("links", rel, fmt.Sprintf("a link out of the skill, to %q", to), "put the file itself there")
	case badPath(to) || strings.Contains(to, " -> "):
		s.fail("links", rel, fmt.Sprintf("a link to the odd name %q", to), "name a plain path")
	case err != nil:
		s.fail("links", rel, fmt.Sprintf("a link to %q, which is not there", to), "remove it")
	case rel == "SKILL.md":
		s.fail("links", rel, "a link", "put the file itself there")
	default:
		s.Files = append(s.Files, File{Path: rel, Link: to})
	}
	return nil
}

// badPath tells whether a path could not be carried, or be told by a script.
func badPath(p string) bool {
	return len(p) > 200 || !utf8.ValidString(p) || strings.ContainsRune(p, '\\') || strings.ContainsFunc(p, unicode.IsControl)
}

func (s *Skill) fail(rule, rel, text, remedy string) {
	s.problems = append(s.problems, Problem{Rule: rule, Where: s.where(rel), Text: text, Remedy: remedy})
}

func (s *Skill) warn(rule, rel, text, remedy string) {
	s.problems = append(s.problems, Problem{Rule: rule, Where: s.where(rel), Text: text, Remedy: remedy, Warn: true})
}

// where names something of the skill.
func (s *Skill) where(rel string) string { return quoted(path.Join(s.Name, rel)) }

// quoted is a name, with quotes where a terminal or a reader could stumble on it.
func quoted(name string) string {
	if plain := fmt.Sprintf("%q", name); plain != `"`+name+`"` || name == "" || strings.Contains(name, " ") {
		return plain
	}
	return name
}
