package verify

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSecretNames: what seeding leaves out of a default home is what verification
// looks for in one, but for directories, histories and litter.
func TestSecretNames(t *testing.T) {
	t.Parallel()
	names := func(path, from string) []string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		part := regexp.MustCompile(`(?s)` + from + `\\\(.*?\\\)`).Find(text)
		found := regexp.MustCompile(`(! )?-i?name \S+`).FindAllString(string(part), -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	seeding := slices.DeleteFunc(names("../default_inside.sh", `drop `), func(name string) bool {
		return slices.Contains([]string{"-iname '.*_history'", "-iname .ssh", "-iname .gnupg", "-iname .aws", "-iname .docker", "-iname .kube", "-name '._*'", "-name .DS_Store", "-name __MACOSX", "-name __pycache__"}, name)
	})
	if diff := cmp.Diff(seeding, names("node.sh", `-size \+0 `)); diff != "" || len(seeding) < 20 {
		t.Errorf("%d names\n%s", len(seeding), diff)
	}
}
