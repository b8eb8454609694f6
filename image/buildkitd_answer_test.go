package image

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	bkclient "github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/distribution/reference"
)

func TestInfoOf(t *testing.T) {
	t.Parallel()
	worker := &bkclient.WorkerInfo{Platforms: []ocispecs.Platform{{OS: "linux", Architecture: "arm64"}, {OS: "linux", Architecture: "amd64"}}}
	worker.BuildkitVersion.Version = "v0.11.0"
	got, err := infoOf([]*bkclient.WorkerInfo{worker})
	if want := (EngineInfo{Version: "v0.11.0", OS: "linux", Arch: "arm64"}); err != nil || got != want {
		t.Errorf("infoOf: %+v, %v", got, err)
	}
	for want, workers := range map[string][]*bkclient.WorkerInfo{
		"no worker":       nil,
		"it has no":       {{}},
		"older than 0.11": {{Platforms: worker.Platforms}},
	} {
		if _, err := infoOf(workers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestPushedManifest(t *testing.T) {
	t.Parallel()
	const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, test := range map[string]struct {
		descriptor string
		want       error
	}{
		"a manifest": {encoded(`{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "` + digest + `"}`), nil},
		"an index":   {encoded(`{"mediaType": "application/vnd.oci.image.index.v1+json", "digest": "` + digest + `"}`), ErrPush},
		"a list":     {encoded(`{"mediaType": "application/vnd.docker.distribution.manifest.list.v2+json", "digest": "` + digest + `"}`), ErrPush},
		"none":       {"", ErrBuild},
		"not JSON":   {encoded("{"), ErrBuild},
		"not base64": {"{", ErrBuild},
	} {
		got, err := pushedManifest(map[string]string{"containerimage.descriptor": test.descriptor})
		if !errors.Is(err, test.want) || err == nil && got != digest {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestImageServedUnreadable(t *testing.T) {
	t.Parallel()
	named, err := reference.ParseDockerRef("registry.example.com/team/app:one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := imageServed(named, &sourceresolver.ResolveImageResponse{Config: []byte("{")}); err == nil || !strings.Contains(err.Error(), "team/app") {
		t.Errorf("imageServed: %v", err)
	}
}
