package xattr

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/f"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Read(path); got != nil {
		t.Errorf("fresh: %v", got)
	}
	want := map[string]string{"a": "1", "empty": "", "long": strings.Repeat("x", 600), strings.Repeat("n", 200): "2"}
	if err := Write(path, want); err != nil {
		if strings.Contains(err.Error(), "not supported") {
			t.Skipf("the temporary directory keeps no attributes: %v", err)
		}
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, Read(path)); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
	link := path + "-link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got := Read(link); got != nil {
		t.Errorf("of a link: %v", got)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	if err := Write("/no/such", map[string]string{"a": "1"}); err == nil || !strings.Contains(err.Error(), "setting attribute a of /no/such") {
		t.Errorf("Write: %v", err)
	}
	if got := Read("/no/such"); got != nil {
		t.Errorf("Read: %v", got)
	}
}
