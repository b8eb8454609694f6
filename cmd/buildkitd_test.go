package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// TestBuildkitd builds, and takes the pipeline to a template, with a buildkitd in place of an Engine.
func TestBuildkitd(t *testing.T) {
	t.Parallel()
	builder := dockertest.Buildkitd(t)
	registry := dockertest.Registry(t)
	u := newUp(t, registry+"/team/studio:latest")
	u.flags = append([]string{"--push", "--builder", builder}, u.flags...)
	u.want(u.actions(), "build", "register")

	out := func(name string) string { return filepath.Join(u.dir, name) }
	ref := must(t, u.dir, u.engine, "build", "--push", "--builder", builder, "-f", "source/Dockerfile", "-t", registry+"/team/studio", "--iidfile", out("iid"), "--metadata-file", out("metadata"), "source")
	u.engine.RemoveImage(t, ref) // the local Cube pulls it
	if !strings.HasPrefix(ref, registry+"/team/studio@sha256:") {
		t.Errorf("printed %q", ref)
	}
	iid, err := os.ReadFile(out("iid"))
	if err != nil {
		t.Fatal(err)
	}
	var metadata map[string]any
	content, err := os.ReadFile(out("metadata"))
	if err == nil {
		err = json.Unmarshal(content, &metadata)
	}
	if err != nil || registry+"/team/studio@"+metadata["containerimage.digest"].(string) != ref || metadata["containerimage.config.digest"] != string(iid) {
		t.Errorf("metadata %s, %v; ID %s", content, err, iid)
	}

	u.want(u.actions(), "none", "register")
	id := strings.TrimSpace(u.run(0, "up").stdout)
	if show := u.template("show", id); !strings.Contains(show, ref) {
		t.Errorf("template show:\n%s", show)
	}
	u.want(u.actions(), "none", "none")
	u.write("data", "another")
	u.want(u.actions(), "build", "register")
	u.write("../hermesbox.yaml", "image: {name: \""+registry+"/team/studio\", builder: \""+builder+"\"}\n")
	for _, flags := range [][]string{nil, {"--image", registry + "/team/studio"}} {
		if again := u.template(append([]string{"create"}, flags...)...); again != id {
			t.Errorf("create %q printed %q, the template of the same image is %q", flags, again, id)
		}
	}
}

// TestDoctorBuildkitd looks at a buildkitd and at what it reaches.
func TestDoctorBuildkitd(t *testing.T) {
	t.Parallel()
	image := "image: {builder: \"" + dockertest.Buildkitd(t) + "\", base: \"127.0.0.1:1/no/base:1\"}\n"
	found := diagnose(t, image, nil)
	want{"pass", "buildkitd v", ""}.of(t, found["docker"])
	want{"pass", "1 worker(s)", ""}.of(t, found["buildkit"])
	want{"pass", "the buildkitd's own", ""}.of(t, found["platform"])
	want{"fail", "127.0.0.1:1/no/base:1", "a buildkitd takes bases from registries alone"}.of(t, found["base"])
	want{"skip", "keeps no images", ""}.of(t, found["disk"])
	want{"fail", "image.push is not set", "set image.push: true"}.of(t, found["registry"])
}
