package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
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
	buf := buffers.Get().(*[]byte) //nolint:forcetypeassert // nothing else is put there
	defer buffers.Put(buf)
	err := s.readDir(dir, "", *buf)
	if err == nil {
		err = s.judgeLinks(dir)
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	s.Digest = s.digest()
	return err
}

func (s *Skill) readDir(dir, below string, buf []byte) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.take(dir+string(filepath.Separator)+e.Name(), path.Join(below, e.Name()), e, buf); err != nil {
			return err
		}
	}
	return nil
}

// take takes in one entry, or says why not.
func (s *Skill) take(full, rel string, e fs.DirEntry, buf []byte) error {
	switch {
	case buildctx.IsLitter(e.Name(), false):
		s.warn("litter", rel, "left out", remedyLitter)
	case e.IsDir() && leftOut[e.Name()]:
		s.warn("litter", rel, "left out", "")
	case badPath(rel):
		s.fail("paths", rel, "its name cannot be carried everywhere", "use UTF-8 without control characters and backslashes, at most 200 bytes of path")
	case e.IsDir():
		return s.readDir(full, rel, buf)
	case e.Type()&fs.ModeSymlink != 0:
		return s.takeLink(full, rel)
	case !e.Type().IsRegular():
		s.fail("special", rel, "neither file, directory nor link", "remove it")
	default:
		return s.takeFile(full, rel, buf)
	}
	return nil
}

func (s *Skill) takeFile(full, rel string, buf []byte) error {
	text, exec, err := slurp(full, buf)
	if err != nil {
		return err
	}
	if len(text) > fileLimit {
		s.fail("size", rel, fmt.Sprintf("more than %d bytes", fileLimit), "keep large files elsewhere, such as in /workspace")
	}
	if rel == "SKILL.md" {
		s.head = append([]byte{}, text...)
	}
	sum := sha256.Sum256(text)
	s.Files = append(s.Files, File{Path: rel, Size: int64(len(text)), Exec: exec, Sum: hex.EncodeToString(sum[:])})
	s.Bytes += int64(len(text))
	return nil
}

// buffers hold one file each, and a byte by which to know that it is too large.
var buffers = sync.Pool{New: func() any { b := make([]byte, fileLimit+1); return &b }}

// slurp reads a file into buf, as far as that goes, and tells whether its owner
// can execute it. It asks the system itself: of thousands of small files, package
// os would take half the time. It follows no link and waits for no pipe.
func slurp(full string, buf []byte) (text []byte, exec bool, err error) {
	fd, err := syscall.Open(full, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, false, &fs.PathError{Op: "open", Path: full, Err: err}
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return nil, false, &fs.PathError{Op: "stat", Path: full, Err: err}
	}
	n := 0
	for n < len(buf) {
		m, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, false, &fs.PathError{Op: "read", Path: full, Err: err}
		}
		if n += m; m == 0 {
			break
		}
	}
	return buf[:n], stat.Mode&0o100 != 0, nil
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

// judgeLinks finds links that lead out of the skill by way of other links, and
// links to what is left out.
func (s *Skill) judgeLinks(dir string) error {
	sent := map[string]bool{".": true}
	for _, f := range s.Files {
		for at := f.Path; !sent[at]; at = path.Dir(at) {
			sent[at] = true
		}
	}
	for _, f := range s.Files {
		if f.Link == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return err
		}
		switch rel, err := filepath.Rel(dir, real); {
		case err != nil || !filepath.IsLocal(rel):
			s.fail("links", f.Path, fmt.Sprintf("a link out of the skill, to %q", f.Link), "put the file itself there")
		case !sent[filepath.ToSlash(rel)]:
			s.fail("links", f.Path, fmt.Sprintf("a link to %q, which is left out", f.Link), "remove it")
		}
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
