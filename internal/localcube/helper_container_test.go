package localcube_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

func TestHelper(t *testing.T) {
	t.Parallel()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	h := localcube.Helper{Docker: engine.Client, Image: dockertest.BaseImage, SharedRoot: t.TempDir()}
	var out, errs bytes.Buffer
	code, err := h.Run(t.Context(), []string{"sh", "-c", "id -u; cat > /data/shared/made; echo bad >&2; exit 4"}, strings.NewReader("content"), &out, &errs)
	if err != nil || code != 4 || out.String() != "0\n" || errs.String() != "bad\n" {
		t.Errorf("Run: code %d, %v, output %q, errors %q", code, err, out.String(), errs.String())
	}
	if got, err := os.ReadFile(filepath.Join(h.SharedRoot, "made")); err != nil || string(got) != "content" {
		t.Errorf("what it wrote: %q, %v", got, err)
	}
	if code, err := h.Run(t.Context(), []string{"true"}, strings.NewReader(strings.Repeat("x", 1<<20)), nil, nil); err != nil || code != 0 {
		t.Errorf("a command that does not read its input: %d, %v", code, err)
	}
	if _, err := h.Run(t.Context(), []string{"/no/such/program"}, nil, nil, nil); err == nil {
		t.Error("a program that is not there ran")
	}
	if _, err := h.Run(t.Context(), nil, nil, nil, nil); err == nil {
		t.Error("no command ran")
	}
	h.Image = "hermesbox-test/none:1"
	if _, err := h.Run(t.Context(), []string{"true"}, nil, nil, nil); err == nil || !strings.Contains(err.Error(), h.Image) {
		t.Errorf("an image that is not there: %v", err)
	}
}
