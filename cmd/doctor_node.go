package cmd

import (
	"context"
	"errors"
	"os"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/skills"
)

// examineNodes is one check a node, all asked at once.
func (a *app) examineNodes(ctx context.Context, cfg config.Config) []check.Check {
	local := cfg.Cube.Engine == "local"
	nodes := func(ask func(context.Context) check.Result) []check.Check {
		return one("nodes", "the nodes are ready", "hermesbox local status shows whether it answers", ask)(ctx)
	}
	if err := checkShared(cfg.SharedRoot, local); err != nil && (local || len(cfg.Nodes) > 0) {
		return nodes(func(context.Context) check.Result { return wrong(err, "") })
	}
	f := &fleet{cfg: cfg, local: local}
	if !local {
		f.nodes = a.sshNodes(ctx, cfg.Nodes)
	} else if opened := a.localFleet(ctx, cfg, f); opened != nil {
		return nodes(func(context.Context) check.Result { return *opened })
	}
	defer f.close() //nolint:errcheck // they were only looked at
	if len(f.nodes) == 0 {
		return nodes(func(context.Context) check.Result {
			return skip("no nodes are configured: directories must exist on them")
		})
	}
	checks := make([]check.Check, len(f.nodes))
	f.each(func(i int, n node.Node) {
		checks[i] = check.Run("node "+n.Name(), "the node is ready", func() check.Result {
			return inTime(ctx, nodePatience, "log in by hand and see what hangs there: a disk of "+cfg.SharedRoot+", for one", func(ctx context.Context) check.Result {
				return a.examineNode(ctx, f, n)
			})
		})
	})
	return checks
}

func (a *app) examineNode(ctx context.Context, f *fleet, n node.Node) check.Result {
	found, err := f.check(ctx, a, n)
	if errors.Is(err, errNoHelper) {
		return skip("the Engine has no image to look with; up builds one")
	}
	return condense(found.Checks, "every check passed", a.again()+" node check "+n.Name()+" tells more")
}

// localFleet gives a fleet the local Cube's node; what is returned tells why not.
func (a *app) localFleet(ctx context.Context, cfg config.Config, f *fleet) *check.Result {
	opened := hand[[]node.Node]()
	r := inTime(ctx, doctorPatience, "hermesbox local status shows whether it answers", func(ctx context.Context) check.Result {
		link, err := a.openCube(ctx, cfg.Cube, true, false)
		switch {
		case notRunning(err):
			return skip("no local Cube runs")
		case err != nil:
			return wrong(err, "")
		}
		opened <- []node.Node{&lateNode{open: func(ctx context.Context) (node.Node, error) { return a.localNode(ctx, cfg, link, "") }}}
		return check.Result{Status: check.Pass}
	})
	var ok bool
	if f.nodes, ok = opened.take(); ok {
		return nil
	}
	return &r
}

// examineSkills lints the public skills, where there are some.
func examineSkills(loaded *config.Loaded) check.Result {
	dir := loaded.Config.Skills.Source
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if dir == "" || loaded.Origin["skills.source"] == "default" {
			return skip("there is no directory " + dir)
		}
		return wrong(err, "correct skills.source in hermesbox.yaml, or leave it away")
	}
	set, err := loadSkills(loaded, nil)
	if err != nil {
		return wrong(err, "")
	}
	return condense(skills.Lint(set, bundledOf(loaded.Config.Source)), "every check passed", "hermesbox skills lint tells more")
}

// examineBrowser tells whether sandbox open can open one.
func (a *app) examineBrowser() check.Result {
	if !isTerminal(a.rawErr) {
		return skip("no terminal: nobody opens a browser here")
	}
	path, err := browser()
	if err != nil {
		return check.Result{Status: check.Warn, Evidence: err.Error(), Remedy: "hermesbox sandbox url SANDBOX --with-token prints the address to open"}
	}
	return check.Result{Status: check.Pass, Evidence: path}
}
