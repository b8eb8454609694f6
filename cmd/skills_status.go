package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/skills"
)

func newSkillsStatus(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status [SANDBOX...]",
		Short: "Tell what is deployed on the nodes, and what sandboxes have of it",
		Long: `Status tells for each node which revision of the public skills was deployed last, and what
was changed there since. For each sandbox that runs it tells which skills are linked, which
are private in its home under the name of a public one, which are missing until a refresh,
and which links lead nowhere. With SANDBOX it is about those sandboxes only. It changes
nothing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSkillsStatus(cmd.Context(), app, app.out, args)
		},
	}
}

// skillsNode is what a node has.
type skillsNode struct {
	Node   string `json:"node"`
	Skills int    `json:"skills"`
	skills.Revision
	Hermesbox  string   `json:"hermesbox"`   // the version that deployed
	DeployedAt string   `json:"deployed_at"` // empty where nothing was
	Changed    []string `json:"changed"`     // on the node since, missing ones among them
	Others     []string `json:"others"`      // that no deploy put there
	Unfinished bool     `json:"unfinished"`
	Error      string   `json:"error,omitempty"`
}

// skillsStatus is what skills status prints as JSON.
type skillsStatus struct {
	Nodes     []skillsNode  `json:"nodes"`
	Sandboxes []overlaidBox `json:"sandboxes"`
}

func runSkillsStatus(ctx context.Context, app *app, out io.Writer, names []string) error {
	s, err := app.sandboxes(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	boxes, err := s.chosen(ctx, names)
	if err != nil {
		return err
	}
	status := skillsStatus{Nodes: []skillsNode{}}
	var errs []error
	if len(names) == 0 {
		status.Nodes, errs = s.skillsOfNodes(ctx)
	}
	var failures []error
	status.Sandboxes, failures = s.overlays(ctx, boxes, (*target).skillsStatus)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if app.output == "json" {
		err = app.printJSON(status)
	} else {
		err = app.printSkillsStatus(out, status)
	}
	errs = append(errs, failures...)
	return errors.Join(err, partly(len(status.Nodes)+len(boxes)-len(errs), errs...))
}

func (t *target) skillsStatus(ctx context.Context) (skills.Overlaid, error) {
	return skills.Status(ctx, t.service)
}

// skillsOfNodes looks at each node; one that fails has its error, and is among the errors.
func (s *sandboxes) skillsOfNodes(ctx context.Context) ([]skillsNode, []error) {
	s.app.waiting(s.client.Nodes)
	found, failures := make([]skillsNode, len(s.client.Nodes)), make([]error, len(s.client.Nodes))
	atOnce(len(found), maxNodes, func(i int) {
		found[i], failures[i] = lookAtNode(ctx, s.client.Nodes[i], skillsPlace(s.client.Layout))
	})
	var errs []error
	for _, err := range failures {
		if err != nil {
			errs = append(errs, skillsFailed(err))
		}
	}
	return found, errs
}

func lookAtNode(ctx context.Context, n node.Node, p skills.Place) (skillsNode, error) {
	f, err := skills.Look(ctx, n, p)
	out := skillsNode{Node: n.Name(), Changed: sorted(f.Changed), Others: sorted(f.Others)}
	if err != nil {
		out.Error = err.Error()
		return out, err
	}
	out.Skills, out.Revision, out.Unfinished = len(f.Deployed), f.Ledger.Revision, f.Unfinished
	out.Hermesbox, out.DeployedAt = f.Ledger.Hermesbox, modified(f.Ledger.Time)
	return out, nil
}

func sorted(names map[string]bool) []string {
	out := []string{}
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (a *app) printSkillsStatus(out io.Writer, s skillsStatus) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(s.Nodes) > 0 {
		fmt.Fprintln(table, "NODE\tSKILLS\tREVISION\tDEPLOYED\tCHANGED THERE\tOTHERS")
	}
	for _, n := range s.Nodes {
		if n.Error == "" {
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", printable(n.Node), n.Skills, printable(n.String()), printable(n.DeployedAt), firstNames(n.Changed, 5), firstNames(n.Others, 5))
		}
	}
	if len(s.Sandboxes) > 0 {
		if len(s.Nodes) > 0 {
			fmt.Fprintln(table)
		}
		fmt.Fprintln(table, "SANDBOX\tLINKED\tPRIVATE\tMISSING\tDANGLING")
	}
	for _, b := range s.Sandboxes {
		if b.Overlaid != nil {
			private := slices.Concat(b.Private, b.Elsewhere)
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", printable(b.title), len(b.Kept), firstNames(private, 5), firstNames(b.Missing, 5), firstNames(b.Dangling, 5))
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	a.noteSkillsStatus(s)
	return nil
}

func (a *app) noteSkillsStatus(s skillsStatus) {
	for _, n := range s.Nodes {
		if n.Unfinished {
			a.warn("node %s: a deploy was cut short; the next one finishes it", n.Node)
		}
		if len(n.Changed) > 0 {
			a.warn("node %s: changed since they were deployed: %s; skills deploy puts them right", n.Node, firstNames(n.Changed, 5))
		}
	}
	for _, b := range s.Sandboxes {
		if b.Error == "" {
			a.warnOverlaid(b)
		}
	}
}
