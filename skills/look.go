package skills

import (
	"context"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/node"
)

// Found is what lies on a node.
type Found struct {
	Ledger Ledger // the zero value where nothing was deployed
	// Deployed are the skills of the ledger, with the beginning of their digest.
	Deployed map[string]string
	// Changed are those of them that are not as they were deployed, Missing those
	// that are gone.
	Changed, Missing map[string]bool
	// Others is what else lies there.
	Others map[string]bool
	// Unfinished tells that a deploy was cut short; the next one finishes it.
	Unfinished bool
	kept       bool // what finishing an earlier deploy found changed
	gzip       bool
}

// Look looks at a node and changes nothing. It waits for a deploy that goes on.
func Look(ctx context.Context, n node.Node, p Place) (Found, error) {
	f, err := look(ctx, n, p, "read")
	if err != nil {
		return f, fmt.Errorf("looking at the skills on node %s: %w", n.Name(), err)
	}
	return f, nil
}

func look(ctx context.Context, n node.Node, p Place, mode string) (Found, error) {
	if err := p.check(); err != nil {
		return Found{}, err
	}
	answers, err := ask(ctx, n, p, nil, "look", mode)
	if err != nil {
		return Found{}, err
	}
	f := Found{Changed: set(answers["changed"]), Missing: set(answers["missing"]), Others: set(answers["others"])}
	_, f.Unfinished = answers["unfinished"]
	_, f.gzip = answers["gzip"]
	f.kept = answers["kept"] != ""
	header, deployed := answers["header"]
	if !deployed {
		return f, nil
	}
	if f.Ledger, err = parseHeader(header); err != nil {
		return f, fmt.Errorf("%s: %w", p.Ledger(), err)
	}
	if f.Deployed, err = parseIndex(answers["index"]); err != nil {
		return f, fmt.Errorf("%s: %w", p.Ledger(), err)
	}
	return f, nil
}

func set(text string) map[string]bool {
	out := map[string]bool{}
	for _, name := range words(text) {
		out[name] = true
	}
	return out
}
