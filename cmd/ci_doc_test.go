package cmd

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ciLine is a command of hermesbox in an example of docs/ci.md: in YAML behind
// "- " or "run: ", in Groovy between quotes.
var ciLine = regexp.MustCompile(`(?m)^\s*(?:- )?(?:run: )?(?:sh ')?hermesbox (.*?)'?$`)

// ciFlag is a flag in the text around the examples, with its value; ciWord is a
// command there.
var (
	ciFlag = regexp.MustCompile("`(--[a-z-]+(?: [^`]+)?)`")
	ciWord = regexp.MustCompile("`hermesbox ([^`]+)`")
)

// TestCIExamples: every command line of docs/ci.md is one that hermesbox takes,
// every flag in its text is one of up, and what is written stays out of the context.
func TestCIExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	found, wrong := checkCI(string(text))
	if found < 15 || len(wrong) > 0 {
		t.Errorf("%d command lines were found; wrong are\n%s", found, strings.Join(wrong, "\n"))
	}
	for name, change := range map[string][2]string{
		"a command":         {"run: hermesbox doctor", "run: hermesbox doctr"},
		"one in words":      {"`hermesbox doctor`", "`hermesbox doctr`"},
		"a subcommand":      {"hermesbox local down", "hermesbox local donw"},
		"a flag":            {"hermesbox plan --push", "hermesbox plan --pusch"},
		"a format":          {"verify --cube local --output junit", "verify --cube local --output junitt"},
		"a format of junit": {"up --cube local --progress plain --output json", "up --cube local --progress plain --output junit"},
		"a Cube":            {"hermesbox up --cube local", "hermesbox up --cube remote"},
		"an argument":       {"--progress plain .\n", "--progress plain . twice\n"},
		"a file elsewhere":  {"> .hermesbox/verify.xml", "> verify.xml"},
		"a stage in words":  {"`--until image`", "`--until imgae`"},
		"a flag in words":   {"`--until template`", "`--till template`"},
		"YAML":              {"      - uses: actions/checkout@v4", "\t- uses: actions/checkout@v4"},
	} {
		broken := strings.Replace(string(text), change[0], change[1], 1)
		if broken == string(text) {
			t.Errorf("%s: docs/ci.md has no %q", name, change[0])
			continue
		}
		if _, wrong := checkCI(broken); len(wrong) == 0 {
			t.Errorf("%s: %q passes", name, change[1])
		}
	}
}

// checkCI counts the command lines of a page, and tells what is wrong in it.
func checkCI(text string) (found int, wrong []string) {
	blocks := strings.Split(text, "```")
	for i, block := range blocks {
		if i%2 == 0 { // around the fences
			wrong = append(wrong, wrongWords(block)...)
			continue
		}
		if code, ok := strings.CutPrefix(block, "yaml\n"); ok {
			if err := yaml.Unmarshal([]byte(code), new(any)); err != nil {
				wrong = append(wrong, err.Error())
			}
		}
		for _, match := range ciLine.FindAllStringSubmatch(block, -1) {
			found++
			words, file, redirected := strings.Cut(match[1], " > ")
			if err := takes(strings.Fields(words)); err != nil {
				wrong = append(wrong, fmt.Sprintf("hermesbox %s: %v", words, err))
			}
			if redirected && !strings.HasPrefix(file, ".hermesbox/") {
				wrong = append(wrong, file+" would be in the next context")
			}
		}
	}
	return found, wrong
}

// wrongWords are the commands of a text that hermesbox does not take, and the
// flags that up does not.
func wrongWords(text string) (wrong []string) {
	for _, match := range ciWord.FindAllStringSubmatch(text, -1) {
		if err := takes(strings.Fields(match[1])); err != nil {
			wrong = append(wrong, fmt.Sprintf("hermesbox %s: %v", match[1], err))
		}
	}
	for _, match := range ciFlag.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(match[1])
		err := takes(append([]string{"up"}, words...))
		if err == nil && words[0] == "--until" && !slices.Contains(stages[:], words[1]) {
			err = fmt.Errorf("%s is no stage", words[1])
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", match[1], err))
		}
	}
	return wrong
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
