package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// listing are the lines by which a node knows a skill, sorted by bytes: of each
// file its sum as sha256sum writes it, "x" and the path of what can be executed,
// "l" and path and goal of a link. node.sh makes the same of what lies there.
func (s *Skill) listing() []string {
	lines := make([]string, 0, len(s.Files))
	for _, f := range s.Files {
		at := "./" + s.Name + "/" + f.Path
		switch {
		case f.Link != "":
			lines = append(lines, "l "+at+" -> "+f.Link)
		case f.Exec:
			lines = append(lines, f.Sum+"  "+at, "x "+at)
		default:
			lines = append(lines, f.Sum+"  "+at)
		}
	}
	slices.Sort(lines)
	return lines
}

// digest is that of lines, each with its line end.
func digest(lines []string) string {
	sum := sha256.Sum256([]byte(text(lines)))
	return hex.EncodeToString(sum[:])
}

// text are lines, each with its line end.
func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
