package cmd

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/check"
)

// TestMarkdown: nothing from outside leaves its cell or passes for markup.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	out := newPassage(statusFailed, []stage{{stageImage, actionBuild, "a | b\n<img src=x>\x1b[1m & `c`", ""}})
	a := newApp(System{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }})
	a.cube = "local"
	out.FailedChecks = append(out.FailedChecks, check.Check{ID: "node one space", Evidence: "no room\n| none", Remedy: "free some"})
	got := a.markdown(out, stageVerify, &failure{err: errors.New("it\nbroke"), code: exitFailed, hint: "mend <it> with hermesbox up"})
	want := []string{
		"| image | build |  | <code>a &#124; b &#60;img src=x&#62;&#92;x1b&#91;1m &#38; &#96;c&#96;</code> |",
		"| <code>node one space</code> | <code>no room &#124; none</code> | <code>free some</code> |",
		"<code>it broke</code>", "Next: <code>mend &#60;it&#62; with hermesbox --cube local up</code>",
	}
	for _, line := range want {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
	if diff := cmp.Diff("", cell(" \n")); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct{ until, result, want string }{
		{stageVerify, "", "### hermesbox up: done, NOT verified\n"},
		{stageVerify, ".hermesbox/reports/1.json", "### hermesbox up: done\n"},
		{stageTemplate, "", "### hermesbox up: done\n"},
	} {
		out := newPassage("done", []stage{{stageVerify, actionSkip, "", test.result}})
		if got := a.markdown(out, test.until, nil); !strings.HasPrefix(got, test.want) {
			t.Errorf("until %s, result %q:\n%s", test.until, test.result, got)
		}
	}
}
