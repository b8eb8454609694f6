package skills

import (
	"context"
	_ "embed" // for the script
	"fmt"
	"io"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/node"
)

//go:embed node.sh
var nodeScript string

// answerLimit is the longest answer of a node that is read.
const answerLimit = 32 << 20

// ask runs node.sh and returns its answers by key, or why it refused.
func ask(ctx context.Context, n node.Node, p Place, stdin io.Reader, verb string, args ...string) (map[string]string, error) {
	out, said := &answer.Buffer{Left: answerLimit}, &answer.Buffer{Left: 1 << 20}
	args = append([]string{verb, p.Root, p.Dir}, args...)
	code, err := n.Run(ctx, node.Script{Text: node.LockFunc + nodeScript, Args: args, Stdin: stdin, Stdout: out, Stderr: said})
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("exit code %d: %s", code, lastLine(said.String()))
	}
	answers, err := parseAnswers(out.Bytes())
	if err != nil {
		return nil, err
	}
	return answers, refusal(answers)
}

// parseAnswers reads what node.sh says, by key.
func parseAnswers(out []byte) (map[string]string, error) {
	all, err := answer.Parse(out)
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for _, a := range all {
		answers[a.Key] = a.Value
	}
	return answers, nil
}

// words are the lines of an answer.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// lastLine is the last line that is not blank, shortened.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.ToValidUTF8(line[:min(len(line), 300)], "\uFFFD")
}
