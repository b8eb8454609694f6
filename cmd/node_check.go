package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/node"
)

func newNodeCheck(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check [NODE…]",
		Short: "Look at what sandboxes need of their nodes, and say what is wrong",
		Long: `Check looks at all nodes at once, or at those named: whether they can be reached and
worked on as root, tools, clock, the shared root and whether Cube may mount it, the
directories and who may write there, the file system, and the room on it. It changes
nothing but a directory of its own, which it removes, and exits 3 where a check fails.`,
		Example: "  hermesbox node check --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runNodeCheck(cmd.Context(), app, app.out, args)
		},
	}
}

// checkedNode is what was found on one node.
type checkedNode struct {
	Node   string        `json:"node"`
	Status check.Status  `json:"status"`
	Checks []check.Check `json:"checks"`
}

func runNodeCheck(ctx context.Context, app *app, out io.Writer, names []string) (err error) {
	f, err := app.fleet(ctx, names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	done, errs := make([]checkedNode, len(f.nodes)), make([]error, len(f.nodes))
	f.each(func(i int, n node.Node) { done[i], errs[i] = f.check(ctx, app, n) })
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if app.output == "json" {
		err = app.printJSON(done)
	} else {
		err = printChecked(out, done)
	}
	if err != nil {
		return err
	}
	return judgeNodes(done, errs)
}

// judgeNodes is errChecks where a node failed, or the refusal where all that
// failed refused to let us in.
func judgeNodes(done []checkedNode, errs []error) error {
	worst, refused := check.Pass, true
	for i, d := range done {
		if d.Status == check.Fail {
			worst = check.Fail
			refused = refused && errs[i] != nil && failed(nodeFailed(errs[i])).code == exitAuth
		}
	}
	switch {
	case worst != check.Fail:
		return nil
	case refused:
		return nodesFailed(errs, false)
	}
	return errChecks
}

// check looks at one node. The error is why it could not be looked at, which is
// among the checks too.
func (f *fleet) check(ctx context.Context, app *app, n node.Node) (checkedNode, error) {
	var checks []check.Check
	var err error
	reach := check.Run("reach", "scripts run there as root", func() check.Result {
		if checks, err = node.Check(ctx, n, f.spec()); err == nil {
			return check.Result{Status: check.Pass, Evidence: f.address(n)}
		}
		checks = node.Unjudged("reach")
		return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: failed(nodeFailed(err)).hint}
	})
	for i, c := range checks {
		if c.Remedy == node.RemedyPrepare {
			checks[i].Remedy = app.again() + " node prepare " + n.Name()
		}
	}
	checks = append([]check.Check{reach}, checks...)
	return checkedNode{n.Name(), check.Worst(checks), checks}, err
}

func (f *fleet) spec() node.Spec {
	l := f.layout()
	return node.Spec{Dirs: nodeDirs(l), Probe: l.State(), Prefixes: []string{cubePrefix}}
}

// address is how a node is reached.
func (f *fleet) address(n node.Node) string {
	for _, c := range f.cfg.Nodes {
		if c.Name == n.Name() && c.Become != "" {
			return c.SSH + ", root by " + c.Become
		}
		if c.Name == n.Name() {
			return c.SSH
		}
	}
	return "a container on this machine's Engine"
}

// printChecked shows each node by its name and its checks below.
func printChecked(out io.Writer, done []checkedNode) error {
	for _, d := range done {
		if _, err := fmt.Fprintf(out, "%s: %s\n", d.Node, d.Status); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
		shown := make([]check.Check, len(d.Checks))
		for i, c := range d.Checks {
			c.Evidence, c.Remedy = oneLine(c.Evidence), oneLine(c.Remedy)
			shown[i] = c
		}
		if err := printChecks(out, shown); err != nil {
			return err
		}
	}
	return nil
}

// oneLine shows text from outside in one line.
func oneLine(text string) string { return strings.ReplaceAll(visible(text), "\n", " ") }
