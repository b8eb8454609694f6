package skills

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// pack is what a deploy sends: a tar of names (what to do with which skill),
// header and lines (of the new ledger), the skills below new, sums (the listing
// of what was sent), and at its very end whole.
type pack struct {
	set     *Set
	actions []Action
	header  string
	time    time.Time // of all that is sent; see put
	sums    []string
}

// ErrChanged means that a file was changed while it was being sent.
var ErrChanged = errors.New("it was changed while it was read")

// write writes it, compressed where gz is set.
func (p *pack) write(w io.Writer, gz bool) error {
	if !gz {
		return p.writeTar(w)
	}
	z := gzip.NewWriter(w)
	if err := p.writeTar(z); err != nil {
		return err
	}
	return z.Close()
}

func (p *pack) writeTar(w io.Writer) error {
	t := tar.NewWriter(w)
	var names, lines []string
	for _, a := range p.actions {
		if a.Action == Conflict {
			continue
		}
		names = append(names, a.Action+" "+a.Skill)
		if a.skill != nil {
			lines = append(lines, ledgerLine(a.skill))
		}
	}
	err := errors.Join(
		p.putText(t, "names", text(names)), p.putText(t, "header", p.header+"\n"), p.putText(t, "lines", text(lines)), p.putDir(t, "new"))
	for _, a := range p.actions {
		if err == nil && a.skill != nil {
			err = p.putSkill(t, a.skill)
		}
	}
	if err != nil {
		return err
	}
	slices.Sort(p.sums)
	return errors.Join(p.putText(t, "sums", text(p.sums)), p.putText(t, "whole", ""), t.Close())
}

// putSkill sends a skill with its directories.
func (p *pack) putSkill(t *tar.Writer, s *Skill) error {
	made := map[string]bool{".": true}
	if err := p.putDir(t, path.Join("new", s.Name)); err != nil {
		return err
	}
	for _, f := range s.Files {
		if err := p.putParents(t, path.Join("new", s.Name), path.Dir(f.Path), made); err != nil {
			return err
		}
		sum, err := p.putFile(t, s, f)
		if err != nil {
			return fmt.Errorf("sending %s: %w", s.where(f.Path), err)
		}
		p.sums = append(p.sums, s.listing(f, sum)...)
	}
	return nil
}

// putParents puts the directories that are not there yet, from the top.
func (p *pack) putParents(t *tar.Writer, base, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	made[dir] = true
	if err := p.putParents(t, base, path.Dir(dir), made); err != nil {
		return err
	}
	return p.putDir(t, path.Join(base, dir))
}

// putFile sends a file if it is still the one that was hashed, and returns what
// cksum says of it.
func (p *pack) putFile(t *tar.Writer, s *Skill, f File) (string, error) {
	name := path.Join("new", s.Name, f.Path)
	if f.Link != "" {
		return "", p.put(t, &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: f.Link, Mode: 0o777})
	}
	in, err := os.Open(filepath.Join(p.set.Dir, s.Name, filepath.FromSlash(f.Path)))
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	mode := int64(0o644)
	if f.Exec {
		mode = 0o755
	}
	if err := p.put(t, &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: f.Size, Mode: mode}); err != nil {
		return "", err
	}
	sum, check := sha256.New(), &cksum{}
	n, err := io.Copy(io.MultiWriter(t, sum, check), io.LimitReader(in, f.Size))
	if err == nil && (n != f.Size || hex.EncodeToString(sum.Sum(nil)) != f.Sum) {
		err = ErrChanged
	}
	return check.String(), err
}

func (p *pack) putDir(t *tar.Writer, name string) error {
	return p.put(t, &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
}

func (p *pack) putText(t *tar.Writer, name, text string) error {
	if err := p.put(t, &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
		return err
	}
	_, err := io.WriteString(t, text)
	return err
}

// put writes a header in the form that every tar reads, GNU's for long names. Its
// time is new with each deploy: Hermes keeps what it read of a SKILL.md whose time
// and size are those of before.
func (p *pack) put(t *tar.Writer, h *tar.Header) error {
	h.Format, h.ModTime = tar.FormatGNU, p.time
	return t.WriteHeader(h)
}
