package inside

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseManifest(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	got, err := ParseManifest([]byte(sum + "  plain\n" + sum + "   lead\n\\" + sum + `  a\\b\nc\rd` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"plain": sum, " lead": sum, "a\\b\nc\rd": sum}, got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"x", sum, sum + "  ", sum + " one blank", strings.ToUpper(sum) + "  f", "\\" + sum + `  a\q`, "\\" + sum + `  a\`} {
		if _, err := ParseManifest([]byte(bad)); err == nil {
			t.Errorf("ParseManifest(%q) took it", bad)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(strings.Repeat("ab", 32) + "  name\n"))
	f.Add([]byte("\\" + strings.Repeat("ab", 32) + `  a\\b` + "\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		sums, err := ParseManifest(content)
		for name, sum := range sums {
			if len(sum) != 64 || name == "" {
				t.Errorf("%q → %q (%v)", name, sum, err)
			}
		}
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	want := map[string]string{"same": "1", "gone": "1", "other": "1", ".venv/x": "1", "a/__pycache__/b": "1"}
	got := map[string]string{"same": "1", "other": "2", "new": "1", "also": "1"}
	missing, changed, added := Compare(want, got)
	have := [][]string{missing, changed, added}
	if diff := cmp.Diff([][]string{{"gone"}, {"other"}, {"also", "new"}}, have); diff != "" {
		t.Errorf("missing, changed, added (-want +got):\n%s", diff)
	}
}
