package cmd

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMarkdown: nothing from outside leaves its cell or passes for markup.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	out := newPassage(statusFailed, []stage{{stageImage, actionBuild, "a | b\n<img src=x>\x1b[1m & `c`", ""}})
	got := markdown(out, &failure{err: errors.New("it\nbroke"), code: exitFailed, hint: "mend <it>"})
	want := []string{
		"| image | build |  | <code>a &#124; b &#60;img src=x&#62;&#92;x1b&#91;1m &#38; &#96;c&#96;</code> |",
		"<code>it broke</code>", "Next: <code>mend &#60;it&#62;</code>",
	}
	for _, line := range want {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
	if diff := cmp.Diff("", cell(" \n")); diff != "" {
		t.Error(diff)
	}
}
