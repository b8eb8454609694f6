package image

import (
	"archive/tar"
	"strings"
	"testing"

	dockerimage "github.com/docker/docker/api/types/image"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"

	"github.com/hermesbox/hermesbox/internal/check"
)

// filesOf reads contents out of members, as of a container: path → content.
func filesOf(t *testing.T, members map[string]string) *contents {
	t.Helper()
	found := &contents{sums: map[string]string{}, alike: map[string]bool{}}
	for name, content := range members {
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content))}
		if strings.HasSuffix(name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if name, target, ok := strings.Cut(name, " → "); ok {
			header.Name, header.Typeflag, header.Linkname, header.Size = name, tar.TypeSymlink, target, 0
		}
		if err := found.add(strings.TrimSuffix(name, "/"), header, strings.NewReader(content)); err != nil {
			t.Fatalf("add(%q): %v", name, err)
		}
	}
	return found
}

func manifestOf(files map[string]string) string {
	var out strings.Builder
	for name, content := range files {
		out.WriteString(hexSum([]byte(content)) + "  " + name + "\n")
	}
	return out.String()
}

func TestSourceCheck(t *testing.T) {
	t.Parallel()
	source := map[string]string{"a.py": "a", "pyproject.toml": "[project]\nversion = \"1.2\"\n", "hermes.egg-info/PKG-INFO": "old"}
	for name, test := range map[string]struct {
		change func(files map[string]string)
		want   check.Status
		says   string
	}{
		"as hashed":    {func(map[string]string) {}, check.Pass, "3 files"},
		"byte changed": {func(f map[string]string) { f["/opt/hermes-agent/a.py"] = "b" }, check.Fail, `1 changed: "a.py"`},
		"missing":      {func(f map[string]string) { delete(f, "/opt/hermes-agent/a.py") }, check.Fail, `1 missing: "a.py"`},
		"added":        {func(f map[string]string) { f["/opt/hermes-agent/b.py"] = "b" }, check.Fail, `1 added: "b.py"`},
		"venv and byte code": {func(f map[string]string) {
			f["/opt/hermes-agent/.venv/x"], f["/opt/hermes-agent/t/__pycache__/a.pyc"] = "1", "2"
		}, check.Pass, "none added"},
		"egg-info rewritten": {func(f map[string]string) { f["/opt/hermes-agent/hermes.egg-info/PKG-INFO"] = "new" }, check.Pass, "none added"},
		"link inside":        {func(f map[string]string) { f["/opt/hermes-agent/l → a.py"] = "link" }, check.Pass, "none added"},
		"link outside":       {func(f map[string]string) { f["/opt/hermes-agent/l → /srv/evil.py"] = "link" }, check.Warn, "1 links lead out of the source"},
		"link upwards":       {func(f map[string]string) { f["/opt/hermes-agent/d/l → ../../x"] = "link" }, check.Warn, "1 links"},
		"deeper egg-info":    {func(f map[string]string) { f["/opt/hermes-agent/x/y.egg-info/f"] = "1" }, check.Fail, "1 added"},
		"no manifest":        {func(f map[string]string) { delete(f, manifestInImage) }, check.Fail, "has no /usr/share/hermesbox/manifest"},
		"broken manifest":    {func(f map[string]string) { f[manifestInImage] = "nonsense\n" }, check.Fail, "line 1"},
		"empty manifest":     {func(f map[string]string) { f[manifestInImage] = "" }, check.Fail, "lists no file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{manifestInImage: manifestOf(source)}
			for file, content := range source {
				files["/opt/hermes-agent/"+file] = content
			}
			test.change(files)
			got := (&trial{files: filesOf(t, files)}).source(t.Context())
			if got.Status != test.want || !strings.Contains(got.Evidence, test.says) {
				t.Errorf("got %s: %s; want %s with %q", got.Status, got.Evidence, test.want, test.says)
			}
		})
	}
}

func TestLitterCheck(t *testing.T) {
	t.Parallel()
	apple := "\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x02"
	for name, test := range map[string]struct {
		file, content string
		listed        bool
		want          check.Status
	}{
		"AppleDouble":                 {"/opt/hermes-agent/tools/._x.py", apple, false, check.Fail},
		"AppleDouble in manifest":     {"/opt/hermes-agent/tools/._x.py", apple, true, check.Fail},
		"look-alike, kept":            {"/opt/hermes-agent/._SUCCESS.crc", "crc", true, check.Pass},
		"look-alike, nobody kept":     {"/opt/hermes-agent/._SUCCESS.crc", "crc", false, check.Fail},
		"empty look-alike":            {"/root/.hermes/._x", "", false, check.Fail},
		".DS_Store in manifest":       {"/opt/hermes-agent/.DS_Store", "Bud1", true, check.Fail},
		"directory":                   {"/opt/hermes-common-skills/a/__MACOSX/", "", false, check.Fail},
		"Icon with carriage return":   {"/root/.hermes/Icon\r", "", false, check.Fail},
		"a name that only ends so":    {"/root/.hermes/x._y", "", false, check.Pass},
		"Spotlight at the root":       {"/opt/hermes-agent/.Spotlight-V100/", "", false, check.Fail},
		"Spotlight deeper":            {"/opt/hermes-agent/x/.Spotlight-V100/", "", false, check.Pass},
		"Icon without":                {"/root/.hermes/Icon", "", false, check.Pass},
		"AppleDouble inside the venv": {"/opt/hermes-agent/.venv/lib/._m.py", apple, false, check.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{test.file: test.content}
			if test.listed {
				files[manifestInImage] = manifestOf(map[string]string{strings.TrimPrefix(test.file, agentDir+"/"): test.content})
			}
			got := (&trial{files: filesOf(t, files), stillErr: errNotStarted}).litter(t.Context())
			if got.Status != test.want {
				t.Errorf("got %s: %s; want %s", got.Status, got.Evidence, test.want)
			}
		})
	}
}

func TestLabelsAndPortsChecks(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	image := func(labels map[string]string, ports ...string) *trial {
		config := &dockerspec.DockerOCIImageConfig{}
		config.Labels = labels
		config.ExposedPorts = map[string]struct{}{}
		for _, port := range ports {
			config.ExposedPorts[port] = struct{}{}
		}
		return &trial{image: dockerimage.InspectResponse{Config: config}}
	}
	both := map[string]string{LabelContext: digest, LabelRecipe: digest}
	for name, test := range map[string]struct {
		trial         *trial
		labels, ports check.Status
	}{
		"as built":       {image(both, "9000/tcp", "49983/tcp"), check.Pass, check.Pass},
		"no recipe":      {image(map[string]string{LabelContext: digest}, "9000/tcp"), check.Fail, check.Fail},
		"no hex":         {image(map[string]string{LabelContext: "sha256:" + strings.Repeat("z", 64), LabelRecipe: digest}, "9000/tcp", "49983/tcp"), check.Fail, check.Pass},
		"short digest":   {image(map[string]string{LabelContext: "sha256:a", LabelRecipe: digest}, "49983/tcp", "9000/udp"), check.Fail, check.Fail},
		"nothing at all": {&trial{}, check.Fail, check.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.trial.labels(t.Context()); got.Status != test.labels {
				t.Errorf("labels: %s: %s", got.Status, got.Evidence)
			}
			if got := test.trial.ports(t.Context()); got.Status != test.ports {
				t.Errorf("ports: %s: %s", got.Status, got.Evidence)
			}
		})
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"status":"ok","gateway":"running","version":"","webui_version":"0.5.16"}`: true,
		`{"status":"error","gateway":"stopped","version":"v0.19.0"}`:                false,
		`{"status":"ok","version":"","agent_bridge":{"ready":true}}`:                false,
		`{"status":"ok","version":"v0.19.0","agent_bridge":{"ready":false}}`:        false,
		`{"status":"ok","version":"v0.19.0","agent_bridge":{"ready":true}}`:         true,
		`<html>`: false,
		``:       false,
	} {
		if got := ready(answer{Status: 200, Body: body}); got != want {
			t.Errorf("ready(%s) = %v", body, got)
		}
	}
	if ready(answer{Status: 502, Body: `{"status":"ok"}`}) {
		t.Error("ready with status 502")
	}
}
