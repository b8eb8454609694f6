package localcube_test

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// serve runs a local Cube for one test, and takes it down when the test ends.
func serve(t *testing.T, opts localcube.Options) localcube.Status {
	t.Helper()
	if opts.Docker == nil {
		opts.Docker = dockertest.Default(t).Client
	}
	if opts.StateDir == "" {
		opts.StateDir = tempDir(t)
	}
	if opts.SharedRoot == "" {
		opts.SharedRoot = t.TempDir()
	}
	for _, addr := range []*string{&opts.API, &opts.Master, &opts.Proxy} {
		if *addr == "" {
			*addr = "127.0.0.1:0"
		}
	}
	ready, ended := make(chan localcube.Status, 1), make(chan error, 1)
	go func() {
		ended <- localcube.Serve(context.WithoutCancel(t.Context()), opts, func(st localcube.Status) { ready <- st })
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		defer cancel()
		if err := localcube.Down(ctx, opts); err != nil {
			t.Errorf("taking the local Cube down: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	select {
	case st := <-ready:
		return st
	case err := <-ended:
		ended <- nil
		t.Fatalf("serving: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the local Cube does not answer after a minute")
	}
	return localcube.Status{}
}

// tempDir is a directory with a name short enough for a socket in it.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lc") //nolint:usetesting // t.TempDir names it too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// importApp makes an image of testdata/app, started as the recorded one was; changes are Dockerfile lines.
func importApp(t *testing.T, engine dockertest.Engine, ref string, changes ...string) {
	t.Helper()
	text, err := os.ReadFile(program(t).app)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []*tar.Header{{Name: "srv/", Mode: 0o755, Typeflag: tar.TypeDir}, {Name: "entry.sh", Mode: 0o755, Size: int64(len(text))}} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	stream, err := engine.Client.ImageImport(t.Context(), image.ImportSource{Source: &b, SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		t.Fatalf("importing %s: %v", ref, err)
	}
	if _, err := new(bytes.Buffer).ReadFrom(stream); err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	engine.RemoveImage(t, ref)
}
