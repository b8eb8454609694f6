package config_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/config"
)

// FuzzLoad checks that a file is either refused as a wrong configuration
// that names the file, or gives a configuration that can be shown.
func FuzzLoad(f *testing.F) {
	for _, file := range []string{
		everything, secretive, "", "---\n---\n", "nodes: [&a {<<: *a}]", "\ufeffsource: a\r\n", "image: {push: yes}",
		"sandbox: {env: {A: &x 1, B: *x}}", "? a\n: b\n", "template: {egress: {allow: [10.0.0.0/8]}}", "source: !!binary AAAA",
	} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		dir := t.TempDir()
		write(t, dir, "hermesbox.yaml", string(file))
		l, err := config.Load(config.Options{WorkDir: dir})
		var wrong *config.Error
		switch {
		case err == nil:
			var out bytes.Buffer
			if err := errors.Join(l.Show(&out), l.ShowJSON(&out)); err != nil {
				t.Fatal(err)
			}
		case !errors.As(err, &wrong):
			t.Fatalf("%v is no *config.Error", err)
		case !strings.HasPrefix(wrong.Origin, "hermesbox.yaml"):
			t.Fatalf("%v names no file", err)
		}
	})
}
