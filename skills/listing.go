package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// digest is by what a skill differs from another: its files, their content,
// which can be executed, and its links.
func (s *Skill) digest() string {
	sum := sha256.New()
	for _, f := range s.Files {
		kind, value := "f", f.Sum
		switch {
		case f.Link != "":
			kind, value = "l", f.Link
		case f.Exec:
			kind = "x"
		}
		sum.Write([]byte(kind + " " + value + "\x00" + f.Path + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// listing are the lines by which a node knows a file or link, as node.sh makes
// them of what lies there: what cksum prints of a file, "x" and the path of one
// that can be executed, "l" and path and goal of a link.
func (s *Skill) listing(f File, sum string) []string {
	at := "./" + s.Name + "/" + f.Path
	switch {
	case f.Link != "":
		return []string{"l " + at + " -> " + f.Link}
	case f.Exec:
		return []string{sum + " " + at, "x " + at}
	}
	return []string{sum + " " + at}
}

// text are lines, each with its line end.
func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
