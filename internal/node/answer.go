package node

import (
	"context"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/answer"
)

// answerLimit is more than any answer takes.
const answerLimit = 4 << 20

// ask runs a script of this package and reads its answers.
func ask(ctx context.Context, n Node, text string, args []string) ([]answer.Pair, error) {
	out, said := &answer.Buffer{Left: answerLimit}, &answer.Buffer{Left: 64 << 10}
	code, err := n.Run(ctx, Script{Text: text, Args: args, Stdout: out, Stderr: said})
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("running a script on node %s: exit code %d: %s", n.Name(), code, lastLine(said.Bytes()))
	}
	answers, err := answer.Parse(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("running a script on node %s: %w", n.Name(), err)
	}
	return answers, nil
}
