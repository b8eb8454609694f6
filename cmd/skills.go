package cmd

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/skills"
)

func newSkills(app *app) *cobra.Command {
	group := newGroup("skills", "Check public skills, bring them to the nodes and into sandboxes",
		newSkillsLint(app), newSkillsDeploy(app), newSkillsRefresh(app), newSkillsStatus(app))
	group.Long = "Public skills lie in a directory of this project, skills.source, one directory a skill. A node has one read-only copy of them, " +
		"which each sandbox sees at " + skills.Public + "; in a home they are links, where their name is free. What is private in a home always wins."
	return group
}

// loadSkills reads the skills of the argument, or of the configuration.
func loadSkills(loaded *config.Loaded, args []string) (*skills.Set, error) {
	dir := loaded.Config.Skills.Source
	if len(args) > 0 {
		dir = args[0]
	}
	if dir == "" {
		return nil, usagef("no directory of skills is named").withHint("give DIR, or set skills.source in hermesbox.yaml")
	}
	set, err := skills.Load(dir)
	return set, skillsFailed(err)
}

// bundledOf are the names of Hermes's own skills: of the source where that is a
// checkout of Hermes, else those that this program knows.
func bundledOf(source string) skills.Bundled {
	if info, err := os.Stat(filepath.Join(source, "run_agent.py")); err == nil && info.Mode().IsRegular() {
		if b, ok := skills.BundledOf(source); ok {
			return b
		}
	}
	return skills.BuiltIn()
}

// skillsPlace is where they are on a node.
func skillsPlace(l sandbox.Layout) skills.Place { return skills.Place{Root: l.Root, Dir: l.Skills()} }

// ownVersion is what the ledger calls this program.
func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	v := versionOf(info)
	if v.Revision == "" {
		return v.Version
	}
	return v.Version + "+" + v.Revision
}

// waiting are nodes that say when they wait for another deploy.
func (a *app) waiting(nodes []node.Node) {
	for i, n := range nodes {
		nodes[i] = waitingNode{n, a.note}
	}
}

// atOnce does something n times, some at a time, and waits for all.
func atOnce(n, most int, do func(i int)) {
	var wait sync.WaitGroup
	free := make(chan struct{}, most)
	for i := range n {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			do(i)
		})
	}
	wait.Wait()
}
