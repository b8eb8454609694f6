package cmd

import (
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/sandbox"
)

// TestJudgeOrigin: what somebody changed is kept, and so is what is of the same image.
func TestJudgeOrigin(t *testing.T) {
	t.Parallel()
	images := map[string]string{"new": "sha256:2", "same": "sha256:2", "old": "sha256:1", "pulled": "r/i:1@sha256:9", "": "r/i:1"}
	for name, test := range map[string]struct {
		origin           sandbox.Origin
		template         string
		action, reasonIs string
	}{
		"absent":                  {sandbox.Origin{State: sandbox.Absent, Changed: true}, "new", actionMake, "no default home"},
		"nobody noted":            {sandbox.Origin{State: sandbox.Initialised, Changed: true}, "new", actionNone, "nobody noted"},
		"of this template":        {sandbox.Origin{State: sandbox.Initialised, Template: "new", Changed: true}, "new", actionNone, "of this image"},
		"of another of the image": {sandbox.Origin{State: sandbox.Initialised, Template: "same"}, "new", actionNone, "of this image"},
		"of a tag and its digest": {sandbox.Origin{State: sandbox.Initialised, Template: "pulled"}, "", actionNone, "of this image"},
		"of another image":        {sandbox.Origin{State: sandbox.Initialised, Template: "old"}, "new", actionRefresh, "of another image"},
		"changed":                 {sandbox.Origin{State: sandbox.Initialised, Template: "old", Changed: true}, "new", actionNone, "changed by hand"},
		"of one that is gone":     {sandbox.Origin{State: sandbox.Initialised, Template: "gone"}, "new", actionRefresh, "there no more"},
		"gone, and changed":       {sandbox.Origin{State: sandbox.Initialised, Template: "gone", Changed: true}, "new", actionNone, "changed by hand"},
		"of an unknown image":     {sandbox.Origin{State: sandbox.Initialised, Template: "gone"}, "unlisted", actionRefresh, "there no more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			action, reason := judgeOrigin(test.origin, test.template, images)
			if action != test.action || !strings.Contains(reason, test.reasonIs) {
				t.Errorf("%s, %q, want %s, %q", action, reason, test.action, test.reasonIs)
			}
		})
	}
}
