package serde

import "fmt"

// An Error is a body that was refused.
type Error struct {
	Path   string // of the value, "" for the body itself
	Text   string
	Syntax bool // not JSON at all, rather than JSON of the wrong shape
	Line   int
	Column int
}

// Error is the text as serde words it, path included.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s at line %d column %d", e.Text, e.Line, e.Column)
	if e.Path == "" {
		return text
	}
	return e.Path + ": " + text
}
