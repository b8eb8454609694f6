package cube

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Secret is a value that prints as ***, in JSON too.
type Secret string

// String masks.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString masks.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalJSON masks.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// Reveal is the value itself.
func (s Secret) Reveal() string { return string(s) }

// Time is a moment as Cube writes it: RFC 3339 or a number since 1970, in
// seconds, milliseconds, microseconds or nanoseconds by its size. What cannot
// be read is the zero time: a list must not be lost for one date.
type Time struct{ time.Time }

// UnmarshalJSON never fails.
func (t *Time) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		t.Time, _ = time.Parse(time.RFC3339Nano, s)
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil || n <= 0:
		t.Time = time.Time{}
	case n < 1e11:
		t.Time = time.Unix(n, 0).UTC()
	case n < 1e14:
		t.Time = time.UnixMilli(n).UTC()
	case n < 1e17:
		t.Time = time.UnixMicro(n).UTC()
	default:
		t.Time = time.Unix(0, n).UTC()
	}
	return nil
}

// Count is a number that only informs. Cube writes whole ones; a fraction is
// rounded down, digits in a string are read, and what is no number is 0: an
// answer must not be lost for one of them.
type Count int64

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(text []byte) error {
	*c = 0
	n, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err == nil && math.Abs(n) < 1<<62 { // what is no number, and infinite, is not
		*c = Count(n)
	}
	return nil
}

// seconds is d in whole seconds, rounded up, since 0 is at once; -1 is never.
func seconds(d time.Duration) int {
	if d < 0 {
		return -1
	}
	return int((d + time.Second - 1) / time.Second)
}

// segment makes an id a path segment. Ids are opaque; only what would be
// another path is refused.
func segment(kind, id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf("%q is no id of a %s", id, kind)
	}
	return url.PathEscape(id), nil
}

// requestID is a random UUID.
func requestID() string {
	b := random(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// NewTemplateID is an id in the form that Cube itself makes.
func NewTemplateID() string { return "tpl-" + hex.EncodeToString(random(12)) }

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails since Go 1.24
	return b
}
