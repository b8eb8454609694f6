package cluster

import (
	"strings"
	"testing"

	"github.com/distribution/reference"
)

// TestHoldName wants a name that an Engine takes, whatever a client called its template.
func TestHoldName(t *testing.T) {
	t.Parallel()
	st, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{store: st}
	seen := map[string]string{}
	for _, id := range []string{"tpl-0123456789abcdef01234567", "tpl_a.B-9", "", "a/b", ".hidden", "-x", "ümlaut", "a b", "x:y", strings.Repeat("x", 128), strings.Repeat("x", 129)} {
		name := c.holdName(id)
		if _, err := reference.ParseNormalizedNamed(name); err != nil {
			t.Errorf("template %q: %s: %v", id, name, err)
		}
		if other, twice := seen[name]; twice {
			t.Errorf("templates %q and %q have one name", id, other)
		}
		seen[name] = id
	}
	if got, want := c.holdName("tpl-1"), "hermesbox-local/"+c.instance()+":tpl-1"; got != want {
		t.Errorf("holdName: %s, want %s", got, want)
	}
}
