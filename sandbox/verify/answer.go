package verify

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/node"
)

// told is a key and a value that a script on a node said.
type told struct{ key, value string }

// parseTold takes a script's output apart. The last key is end, so that a part
// is not taken for the whole.
func parseTold(text string) ([]told, error) {
	parts := strings.Split(text, "\x00")
	n := len(parts)
	if n < 3 || n%2 == 0 || parts[n-1] != "" || parts[n-3] != "end" {
		return nil, fmt.Errorf("%w: a node said %.60q", errAnswer, text)
	}
	var all []told
	for i := 0; i+3 < n; i += 2 {
		all = append(all, told{parts[i], parts[i+1]})
	}
	return all, nil
}

// tell runs a script on a node and returns what it said.
func tell(ctx context.Context, n node.Node, script string, args ...string) ([]told, error) {
	out, said := &limited{left: probeBytes}, &limited{left: saidBytes}
	code, err := n.Run(ctx, node.Script{Text: script, Args: args, Stdout: out, Stderr: said})
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("exit code %d: %s", code, lastLine(said.String()))
	}
	return parseTold(out.String())
}
