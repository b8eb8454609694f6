package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/template"
)

// TestHelperRefs: a template of something else, or one that failed, does not keep
// the local Cube's node from being worked on.
func TestHelperRefs(t *testing.T) {
	t.Parallel()
	var cfg config.Config
	cfg.Template.Name, cfg.Image.Name, cfg.Image.Base = "hermes-studio", "built", "base"
	all := []template.Summary{
		{ID: "tpl-6", Name: "other", Status: "FAILED", Image: "no-shell"},
		{ID: "tpl-5", Name: "hermes-studio", Status: "FAILED", Image: "broken"},
		{ID: "tpl-4", Name: "other", Status: "READY", Image: "foreign"},
		{ID: "tpl-3", Name: "hermes-studio", Status: "READY", Image: "newest"},
		{ID: "tpl-2", Name: "hermes-studio", Status: "READY", Image: "older"},
		{ID: "tpl-1", Name: "other", Status: "READY", Image: ""},
	}
	want := []string{"newest", "older", "built", "base", "foreign", "no-shell", "broken"}
	if diff := cmp.Diff(want, helperRefs(cfg, all)); diff != "" {
		t.Error(diff)
	}
}

// TestNodeHosts: an alias of ssh_config is told to Cube as what it stands for; what
// cannot be read is left out.
func TestNodeHosts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".ssh/config"), []byte("Host node\nHostName 10.0.0.5\nHost bad\nHostName %q\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }}
	got := a.nodeHosts([]config.Node{{Name: "one", SSH: "root@node:22"}, {Name: "two", SSH: "10.0.0.6"}, {Name: "three", SSH: "bad"}})
	if diff := cmp.Diff(map[string]string{"one": "10.0.0.5", "two": "10.0.0.6"}, got); diff != "" {
		t.Error(diff)
	}
}
