package cmd

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/skills"
)

// nodes are one check a node, all asked at once.
func (p *cubePatient) nodes(ctx context.Context) []check.Check {
	var nodes []node.Node
	switch {
	case !p.local:
		nodes = p.app.sshNodes(ctx, p.cfg.Nodes)
		defer closeNodes(nodes) //nolint:errcheck // they were only looked at
	case p.boxes != nil:
		nodes = p.boxes.client.Nodes
	}
	if len(nodes) == 0 {
		why := "no nodes are configured: directories must exist on them"
		if p.local {
			why = "no local Cube runs"
		}
		return []check.Check{check.Run("nodes", "the nodes are ready", func() check.Result { return skip(why) })}
	}
	f := &fleet{cfg: p.cfg, local: p.local, nodes: nodes}
	checks := make([]check.Check, len(nodes))
	f.each(func(i int, n node.Node) {
		checks[i] = check.Run("node "+n.Name(), "the node is ready", func() check.Result {
			found, err := f.check(ctx, p.app, n)
			if errors.Is(err, errNoHelper) {
				return skip("the Engine has no image to look with; up builds one")
			}
			return condense(found.Checks, p.app.again()+" node check "+n.Name()+" tells more")
		})
	})
	return checks
}

// condense makes one result of many checks; more is the remedy where none has one.
func condense(checks []check.Check, more string) check.Result {
	out := check.Result{Status: check.Worst(checks), Evidence: "every check passed"}
	var seen []string
	for _, c := range checks {
		if c.Status != out.Status || c.Status == check.Pass {
			continue
		}
		seen = append(seen, c.ID+": "+c.Evidence)
		if out.Remedy == "" {
			out.Remedy = c.Remedy
		}
	}
	if len(seen) > 0 {
		out.Evidence = strings.Join(seen, "; ")
		out.Remedy = firstOf(out.Remedy, more)
	}
	return out
}

// examineSkills lints the public skills, where there are some.
func examineSkills(loaded *config.Loaded) check.Check {
	return check.Run("skills", "the public skills are fit for Hermes", func() check.Result {
		if _, err := os.Stat(loaded.Config.Skills.Source); errors.Is(err, os.ErrNotExist) || loaded.Config.Skills.Source == "" {
			return skip("there is no directory " + loaded.Config.Skills.Source)
		}
		set, err := loadSkills(loaded, nil)
		if err != nil {
			return wrong(err, "")
		}
		return condense(skills.Lint(set, bundledOf(loaded.Config.Source)), "hermesbox skills lint tells more")
	})
}

// examineBrowser tells whether sandbox open can open one.
func (a *app) examineBrowser() check.Check {
	return check.Run("browser", "sandbox open finds a browser", func() check.Result {
		if !isTerminal(a.rawErr) {
			return skip("no terminal: nobody opens a browser here")
		}
		path, err := browser()
		if err != nil {
			return check.Result{Status: check.Warn, Evidence: err.Error(), Remedy: "hermesbox sandbox url SANDBOX --with-token prints the address to open"}
		}
		return check.Result{Status: check.Pass, Evidence: path}
	})
}
