package image_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// served asks a registry for a manifest, not through any Engine, and returns its media type and digest.
func served(t *testing.T, address, path, user, password string) (mediaType, digest string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v2/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json")
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v: %s", path, response.Status, err, body)
	}
	sum := sha256.Sum256(body)
	return response.Header.Get("Content-Type"), "sha256:" + hex.EncodeToString(sum[:])
}

func TestPush(t *testing.T) {
	loopbackEngine(t, func(t *testing.T, w *workbench) {
		address := dockertest.Registry(t)
		tags := []string{address + "/team/app:one", address + "/team/app"}
		dir := t.TempDir()
		write(t, dir, map[string]string{"f": t.Name()}) // its own: tests that end remove their images
		for _, tag := range tags {
			w.docker.RemoveImage(t, tag)
		}
		spec := w.spec(t, dir, copyAll, tags[0])
		spec.Tags = tags
		img := w.mustBuild(t, spec)
		pushed, err := w.engine.Push(t.Context(), img, tags, nil)
		if err != nil {
			t.Fatalf("Push: %v", err)
		}
		for _, tag := range []string{"one", "latest"} {
			mediaType, digest := served(t, address, "team/app/manifests/"+tag, "", "")
			if digest != pushed.Digest || !strings.Contains(mediaType, "manifest") {
				t.Errorf("%s is served as %s %s, Push said %s", tag, mediaType, digest, pushed.Digest)
			}
		}
		if want := address + "/team/app@" + pushed.Digest; pushed.Ref() != want {
			t.Errorf("Ref is %q, want %q", pushed.Ref(), want)
		}
		again, err := w.engine.Push(t.Context(), img, tags, nil)
		if err != nil || again.Ref() != pushed.Ref() {
			t.Errorf("a second push gave %s (%v), the first %s", again.Ref(), err, pushed.Ref())
		}
	})
}

func TestPushWithCredentials(t *testing.T) {
	loopbackEngine(t, func(t *testing.T, w *workbench) {
		const user, password = "builder", "pass-word-0000"
		address := dockertest.PrivateRegistry(t, user, password)
		tag := address + "/private/app:latest"
		dir := t.TempDir()
		write(t, dir, map[string]string{"f": t.Name()}) // its own: tests that end remove their images
		w.docker.RemoveImage(t, tag)
		img := w.mustBuild(t, w.spec(t, dir, copyAll, tag))
		for name, test := range map[string]struct {
			password string
			want     error
		}{
			"right": {password, nil}, "wrong": {"other", image.ErrUnauthorized}, "none": {"", image.ErrUnauthorized},
		} {
			pushed, err := loggedIn(t, w.docker.Host, address, user, test.password).Push(t.Context(), img, []string{tag}, nil)
			if !errors.Is(err, test.want) {
				t.Errorf("%s password: %v, want %v", name, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("%s password: the error shows it: %v", name, err)
			}
			if test.want == nil {
				if _, digest := served(t, address, "private/app/manifests/latest", user, password); digest != pushed.Digest {
					t.Errorf("served is %s, Push said %s", digest, pushed.Digest)
				}
			}
		}
	})
}

// loggedIn is an Engine with a Docker configuration that has these credentials.
func loggedIn(t *testing.T, host, address, user, password string) *image.Engine {
	t.Helper()
	dir := t.TempDir()
	auths := "{}"
	if password != "" {
		auths = fmt.Sprintf(`{%q: {"auth": %q}}`, address, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"auths": `+auths+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	engine, err := image.Connect(t.Context(), host, func(name string) string {
		return map[string]string{"DOCKER_CONFIG": dir}[name]
	})
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return engine
}

func TestPushToNowhere(t *testing.T) {
	loopbackEngine(t, func(t *testing.T, w *workbench) {
		tag := "127.0.0.1:1/nobody/there:latest"
		dir := t.TempDir()
		write(t, dir, map[string]string{"f": t.Name()}) // its own: tests that end remove their images
		w.docker.RemoveImage(t, tag)
		img := w.mustBuild(t, w.spec(t, dir, copyAll, tag))
		if _, err := w.engine.Push(t.Context(), img, []string{tag}, nil); !errors.Is(err, image.ErrPush) || !strings.Contains(err.Error(), tag) {
			t.Errorf("Push: %v, want ErrPush with the name", err)
		}
	})
}
