package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/template"
)

// openBoxes connects to work on homes and sandboxes, once.
func (p *pipeline) openBoxes(ctx context.Context) (err error) {
	if p.boxes == nil {
		p.boxes, err = p.openSandboxes(ctx, true)
	}
	return err
}

// openSandboxes connects. The local Cube's node is worked on with the image that
// is there, which may bear any name.
func (p *pipeline) openSandboxes(ctx context.Context, start bool) (*sandboxes, error) {
	boxes, err := p.app.openSandboxes(ctx, p.loaded.Config, p.local, start)
	if err == nil && p.place() == template.LocalCube {
		boxes.helper = p.built.ID
	}
	return boxes, err
}

// checkNodes looks at all nodes, and makes the directories that they lack.
func (p *pipeline) checkNodes(ctx context.Context) (stage, error) {
	if err := p.openBoxes(ctx); err != nil {
		return stage{}, err
	}
	if !p.hasNodes() {
		return stage{stageNodes, actionSkip, reasonNoAccess, ""}, nil
	}
	f := &fleet{cfg: p.loaded.Config, local: p.local, nodes: p.boxes.client.Nodes}
	var mu sync.Mutex
	var prepared []string
	found, errs := make([]checkedNode, len(f.nodes)), make([]error, len(f.nodes))
	f.each(func(i int, n node.Node) {
		found[i], errs[i] = f.check(ctx, p.app, n)
		if errs[i] != nil || !lacksDirectories(found[i]) {
			return
		}
		if _, errs[i] = node.Prepare(ctx, n, nodeDirs(f.layout())); errs[i] == nil {
			found[i], errs[i] = f.check(ctx, p.app, n)
			mu.Lock()
			defer mu.Unlock()
			prepared = append(prepared, n.Name())
		}
	})
	return p.judgeNodes(ctx, found, errs, prepared)
}

// lacksDirectories tells whether node prepare mends something.
func lacksDirectories(found checkedNode) bool {
	return slices.ContainsFunc(found.Checks, func(c check.Check) bool {
		return c.Status == check.Fail && strings.HasSuffix(c.Remedy, " node prepare "+found.Node)
	})
}

// judgeNodes keeps the checks for the report, and refuses to go on where one
// failed. All nodes that failed are told of.
func (p *pipeline) judgeNodes(ctx context.Context, found []checkedNode, errs []error, prepared []string) (stage, error) {
	if cause := context.Cause(ctx); cause != nil {
		return stage{}, cause
	}
	var bad []checkedNode
	for i, n := range found {
		for _, c := range n.Checks {
			c.ID = "node " + n.Node + " " + c.ID
			p.checks = append(p.checks, c)
		}
		switch {
		case n.Status == check.Fail && errs[i] == nil:
			bad = append(bad, n)
		case n.Status == check.Warn:
			p.app.note("node %s has warnings: %s node check %[1]s shows them", n.Node, p.app.again())
		}
	}
	p.bad = failedChecks(p.checks)
	if err := errors.Join(printChecked(p.app.err, bad), nodesRefused(errs, bad)); err != nil {
		return stage{}, err
	}
	did := stage{stageNodes, actionCheck, "no check of " + count(len(found), "node") + " failed", ""}
	if len(prepared) > 0 {
		slices.Sort(prepared)
		did.Action, did.Reason = actionPrepare, "directories were missing on "+joined(prepared)
	}
	p.app.note("nodes: %s", did.Reason)
	return did, nil
}

// nodesRefused is the error of nodes that cannot be worked on, and of those with
// checks that failed; nil where there are none. Nothing was done on the others
// either, so that it is no failure in part.
func nodesRefused(errs []error, bad []checkedNode) error {
	if err := nodesFailed(errs, false); err != nil && len(bad) == 0 {
		return err
	}
	code := exitChecks
	for _, err := range errs {
		if err != nil {
			code = exitFailed
		}
	}
	for _, n := range bad {
		errs = append(errs, fmt.Errorf("checking node %s: %s", n.Node, firstFailed(n.Checks)))
	}
	if err := errors.Join(errs...); err != nil {
		return &failure{err: err, code: code, hint: "each failed check above says what to do; then run the same command again, it goes on here"}
	}
	return nil
}

func failedChecks(all []check.Check) []check.Check {
	return slices.DeleteFunc(slices.Clone(all), func(c check.Check) bool { return c.Status != check.Fail })
}

// firstFailed is what was seen by the first check that failed.
func firstFailed(checks []check.Check) string {
	for _, c := range checks {
		if c.Status == check.Fail {
			return c.ID + ": " + oneLine(c.Evidence)
		}
	}
	return ""
}
