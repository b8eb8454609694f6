package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// answer is a key and a value that a script of this package said.
type answer struct{ key, value string }

// errAnswer is output that no script of ours writes.
var errAnswer = errors.New("the node's answer is not understood")

// answerLimit is more than any answer takes.
const answerLimit = 4 << 20

// ask runs a script of this package and reads its answers.
func ask(ctx context.Context, n Node, text string, args []string) ([]answer, error) {
	out, said := &limited{left: answerLimit}, &limited{left: 64 << 10}
	code, err := n.Run(ctx, Script{Text: text, Args: args, Stdout: out, Stderr: said})
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("running a script on node %s: exit code %d: %s", n.Name(), code, lastLine(said.Bytes()))
	}
	answers, err := parseAnswers(out.String())
	if err != nil {
		return nil, fmt.Errorf("running a script on node %s: %w", n.Name(), err)
	}
	return answers, nil
}

// parseAnswers reads keys and values, each ended by a NUL byte, the last of them end.
func parseAnswers(text string) ([]answer, error) {
	parts := strings.Split(text, "\x00")
	if n := len(parts); n < 3 || n%2 == 0 || parts[n-1] != "" || parts[n-3] != "end" {
		return nil, errAnswer
	}
	answers := make([]answer, 0, len(parts)/2)
	for i := 0; i+3 < len(parts); i += 2 {
		answers = append(answers, answer{parts[i], parts[i+1]})
	}
	return answers, nil
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
