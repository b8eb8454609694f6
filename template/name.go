package template

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// A name belongs to one template at a time in Cube, and a template is made
// anew whenever its image or policy changes. So the first of a name bears it,
// and later ones the name with a suffix.
var suffixForm = regexp.MustCompile(`^-[0-9a-f]{12}$`)

const (
	maxName      = 64 // of Cube
	suffixLength = 13 // of what suffixForm matches
)

// Named tells whether a template called alias is one of those called name.
func Named(alias, name string) bool {
	rest, ok := strings.CutPrefix(alias, stem(name))
	return alias == name || ok && suffixForm.MatchString(rest)
}

// anotherName is one of a name's that nobody has yet.
func anotherName(name string) string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	return stem(name) + "-" + hex.EncodeToString(random[:])
}

// stem is what later names of a name begin with: the name itself, or where that
// leaves no room for the suffix, its beginning and a hash of it.
func stem(name string) string {
	if len(name) <= maxName-suffixLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxName-2*suffixLength] + "-" + hex.EncodeToString(sum[:6])
}

// nameTaken tells whether Cube refused a name that another template has. The
// versions that have names do not agree on the words.
func nameTaken(err error) bool {
	var e *cube.Error
	if !errors.As(err, &e) {
		return false
	}
	text := strings.ToLower(e.Message)
	if !strings.Contains(text, "alias") && !strings.Contains(text, "display_name") && !strings.Contains(text, "name") {
		return false
	}
	for _, sign := range []string{"already", "in use", "taken", "exists", "duplicate"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
