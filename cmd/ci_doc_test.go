package cmd

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// ciLine is a command of hermesbox in an example of docs/ci.md: in YAML behind
// "- " or "run: ", in Groovy between quotes.
var ciLine = regexp.MustCompile(`(?m)^\s*(?:- )?(?:run: )?(?:sh ')?hermesbox (.*?)'?$`)

// TestCIExamples: every command line of docs/ci.md is one that hermesbox takes.
func TestCIExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```")
	found := 0
	for i := 1; i < len(blocks); i += 2 { // between the fences
		for _, match := range ciLine.FindAllStringSubmatch(blocks[i], -1) {
			found++
			words, _, _ := strings.Cut(match[1], " > ")
			if err := takes(strings.Fields(words)); err != nil {
				t.Errorf("hermesbox %s: %v", words, err)
			}
		}
	}
	if found < 15 {
		t.Errorf("%d command lines were found", found)
	}
	if err := takes([]string{"up", "--no-such-flag"}); err == nil {
		t.Error("a flag that there is not passes")
	}
	if err := takes([]string{"up", "one", "two"}); err == nil {
		t.Error("too many arguments pass")
	}
}

// takes tells whether a command line has a command, flags and arguments that are known.
func takes(words []string) error {
	app := newApp(System{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }})
	c, rest, err := newRoot(app).Find(words)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if err := app.checkFlags(strings.Fields(c.Annotations[moreFormats])...); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}
