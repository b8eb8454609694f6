package image

import (
	"testing"

	"github.com/docker/docker/api/types/image"
)

// TestNameOf calls an image as its user does, never as a local Cube that holds it.
func TestNameOf(t *testing.T) {
	t.Parallel()
	const held = "hermesbox-local/0123456789abcdef:tpl-1"
	for _, test := range []struct {
		name string
		tags []string
		want string
	}{
		{"no name", nil, "sha256:1"},
		{"a name", []string{"studio:1", "studio:2"}, "studio:1"},
		{"held before it in the list", []string{held, "studio:1"}, "studio:1"},
		{"held alone", []string{held}, "sha256:1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := imageOf("sha256:1", image.InspectResponse{RepoTags: test.tags}).Name; got != test.want {
				t.Errorf("name %s, want %s", got, test.want)
			}
		})
	}
}
