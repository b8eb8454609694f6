package sandbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Origin is what the default home of a node was made from.
type Origin struct {
	// State is the default home's, Problem what is wrong with an unusable one.
	State   State
	Problem string
	// Template is its id; empty where nobody noted it.
	Template string
	// Changed tells that somebody changed the default home since it was made, or
	// that nobody knows what it was made from.
	Changed bool
}

// DefaultOrigin looks at the default home of a node, in one script. It changes
// nothing.
func DefaultOrigin(ctx context.Context, n node.Node, l Layout) (Origin, error) {
	out := Origin{Changed: true}
	noted, sum := "", ""
	take := func(a answer.Pair) error {
		switch a.Key {
		case "state":
			return takeState(a, &out.State, &out.Problem)
		case "noted":
			noted = a.Value
		case "sum":
			sum = a.Value
		default:
			return a.Odd()
		}
		return nil
	}
	if err := ask(ctx, n, nodeScript{name: "origin.sh", args: []string{l.Root}}, take); err != nil {
		return Origin{}, fmt.Errorf("looking at the default home of node %s: %w", n.Name(), err)
	}
	if lines := strings.Split(noted, "\n"); len(lines) == 2 && sum != "" {
		out.Template, out.Changed = lines[0], lines[1] != sum
	}
	return out, nil
}
