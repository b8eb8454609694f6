package template

import (
	"errors"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/image"
)

func TestReference(t *testing.T) {
	t.Parallel()
	id := "sha256:" + strings.Repeat("a", 64)
	labels := map[string]string{image.LabelContext: "sha256:c", image.LabelRecipe: "sha256:r"}
	built := image.Image{Name: "team/app:1", ID: id, Labels: labels}
	pushed := image.Image{Name: "team/app", ID: id, Digest: "sha256:" + strings.Repeat("b", 64), Labels: labels}
	foreign := image.Image{Name: "team/app:1", ID: id}
	tests := map[string]struct {
		img   image.Image
		place Place
		want  string // "" for ErrUnreachableImage
	}{
		"pushed":                {pushed, Elsewhere, "team/app@" + pushed.Digest},
		"pushed, own engine":    {pushed, OwnEngine, "team/app@" + pushed.Digest},
		"local":                 {built, LocalCube, id},
		"pushed, local":         {pushed, LocalCube, id},
		"own engine":            {built, OwnEngine, "team/app:ctx-ce2b3f892a8f"},
		"nowhere":               {built, Elsewhere, ""},
		"own engine, unlabeled": {foreign, OwnEngine, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Reference(tt.img, tt.place)
			if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, ErrUnreachableImage) {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
			if err == nil && !Pinned(got) {
				t.Errorf("%s is not pinned", got)
			}
		})
	}
	if _, err := ContextTag(image.Image{Name: "UPPER case", Labels: labels}); err == nil {
		t.Error("a name that is none was taken")
	}
}

func TestCheckReference(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("0", 64)
	for ref, want := range map[string]bool{
		"app": true, "team/app:1": true, "registry.example:5000/team/app@sha256:" + hex: true, "team/app:1@sha256:" + hex: true,
		"http://registry.example/team/app:1": true, "localhost/app": true, "Registry.Example/app": true,
		"sha256:" + hex: true, hex: true, "0123456789ab": true, "team/app:ctx-0123456789ab": true,
		"": false, "a b": false, "UPPER/x:1": false, "team/App": false, "team/app:": false, "team/app:a/b": false, ":1": false,
		"team/app@sha256:0123": false, "team//app": false, "https://registry.example/app": false, "team/app:" + strings.Repeat("a", 129): false,
		"http://": false, "sha256:" + hex[1:] + "@": false, "app\x00": false,
	} {
		if err := checkReference(ref); (err == nil) != want {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

// FuzzCheckReference wants what is taken to be fit for a terminal and a URL.
func FuzzCheckReference(f *testing.F) {
	for _, seed := range []string{"team/app:1", "http://a/b", "UPPER/x", "sha256:" + strings.Repeat("0", 64), "a@sha256:0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if checkReference(ref) == nil && (ref == "" || strings.ContainsFunc(ref, isBlank)) {
			t.Errorf("%q is taken", ref)
		}
	})
}

func TestPinned(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("0", 64)
	for ref, want := range map[string]bool{
		"team/app": false, "team/app:latest": false, "team/app:ctx-0123456789ab": true, "team/app@sha256:" + hex: true,
		"sha256:" + hex: true, hex: true, "0123456789ab": false,
	} {
		if Pinned(ref) != want {
			t.Errorf("%s: %t", ref, !want)
		}
	}
}
