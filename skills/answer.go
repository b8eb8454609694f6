package skills

import (
	"bytes"
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hermesbox/hermesbox/internal/node"
)

//go:embed node.sh
var nodeScript string

// answerLimit is the longest answer of a node that is read.
const answerLimit = 32 << 20

// errAnswer is output that node.sh does not write.
var errAnswer = errors.New("the node's answer is not understood")

// ask runs node.sh and returns its answers by key, or why it refused.
func ask(ctx context.Context, n node.Node, p Place, stdin io.Reader, verb string, args ...string) (map[string]string, error) {
	out, said := &limited{left: answerLimit}, &limited{left: 1 << 20}
	args = append([]string{verb, p.Root, p.Dir}, args...)
	code, err := n.Run(ctx, node.Script{Text: node.LockFunc + nodeScript, Args: args, Stdin: stdin, Stdout: out, Stderr: said})
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("exit code %d: %s", code, lastLine(said.String()))
	}
	answers, err := parseAnswers(out.String())
	if err != nil {
		return nil, err
	}
	return answers, refusal(answers)
}

// parseAnswers reads keys and values, each ended by a NUL byte, the last of them end.
func parseAnswers(text string) (map[string]string, error) {
	parts := strings.Split(text, "\x00")
	if n := len(parts); n < 3 || n%2 == 0 || parts[n-1] != "" || parts[n-3] != "end" {
		return nil, errAnswer
	}
	answers := map[string]string{}
	for i := 0; i+1 < len(parts); i += 2 {
		answers[parts[i]] = parts[i+1]
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

// limited keeps what it is given, up to a limit, and then fails.
type limited struct {
	bytes.Buffer
	left int
}

// Write keeps p, or fails.
func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, fmt.Errorf("%w: it is too long", errAnswer)
	}
	l.left -= len(p)
	return l.Buffer.Write(p)
}
