package verify

import (
	"context"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/node"
)

// tell runs a script on a node and returns what it said.
func tell(ctx context.Context, n node.Node, script string, args ...string) ([]answer.Pair, error) {
	out, said := &answer.Buffer{Left: probeBytes}, &answer.Buffer{Left: saidBytes}
	code, err := n.Run(ctx, node.Script{Text: script, Args: args, Stdout: out, Stderr: said})
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("exit code %d: %s", code, lastLine(said.String()))
	}
	return answer.Parse(out.Bytes())
}
