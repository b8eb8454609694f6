package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// local is a local Cube's node over a shared root of its own.
func local(t testing.TB, engine dockertest.Engine) (n *node.Local, root string) {
	t.Helper()
	engine.NeedBase(t)
	docker, err := client.NewClientWithOpts(client.WithHost(engine.Host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	n = node.NewLocal(localcube.Helper{Docker: docker, Image: dockertest.BaseImage, SharedRoot: root})
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n, root
}

func TestLocal(t *testing.T) {
	t.Parallel()
	n, root := local(t, dockertest.Default(t))
	conform(t, n)
	if got := run(t, n, node.Script{Text: "echo content >/data/shared/file"}); got.Code != 0 {
		t.Errorf("writing to the shared root: %+v", got)
	}
	if text, err := os.ReadFile(filepath.Join(root, "file")); err != nil || string(text) != "content\n" {
		t.Errorf("what was written: %q, %v", text, err)
	}
	if n.Name() != "local" {
		t.Errorf("Name: %q", n.Name())
	}
}

func TestLocalWithoutImage(t *testing.T) {
	t.Parallel()
	docker := dockertest.Default(t).Client
	n := node.NewLocal(localcube.Helper{Docker: docker, Image: "hermesbox-test/none:1", SharedRoot: t.TempDir()})
	if _, err := n.Run(t.Context(), node.Script{Text: "true"}); err == nil || !strings.Contains(err.Error(), "hermesbox-test/none:1") || errors.Is(err, node.ErrNotStarted) {
		t.Errorf("Run: %v", err)
	}
}
