package cmd

import (
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
