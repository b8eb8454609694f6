package node

import (
	"context"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
)

// Spec is what Check wants of a node.
type Spec struct {
	// Dirs are the directories; the first is the shared root.
	Dirs []Dir
	// Probe is the one among them where the file system is tried out.
	Probe string
	// Prefixes are those that Cube allows to be mounted unless it is told
	// otherwise; the last character of each is a slash.
	Prefixes []string
}

// The limits of Check.
const (
	leastFree, fewFree     = 1 << 20, 5 << 20 // KiB
	leastInodes, fewInodes = 10_000, 100_000
	smallSkew, largeSkew   = 2 * time.Second, 30 * time.Second
)

// Check looks at a node, in one script, and judges: tools, clock, root, prefix,
// directories, filesystem, probe and space. The error is that of the node.
// Remedies name no command of ours; that is the caller's.
func Check(ctx context.Context, n Node, s Spec) ([]check.Check, error) {
	start := time.Now()
	f, err := look(ctx, n, s)
	if err != nil {
		return nil, err
	}
	took := time.Since(start).Milliseconds()
	checks := Unjudged("")
	judges := []func() check.Result{
		f.judgeTools, f.judgeClock, func() check.Result { return f.judgeRoot(s) }, func() check.Result { return judgePrefix(s) },
		func() check.Result { return f.judgeDirs(s) }, f.judgeFileSystem, f.judgeProbe, f.judgeSpace,
	}
	for i, judge := range judges {
		r := judge()
		checks[i].Status, checks[i].Evidence, checks[i].Remedy, checks[i].Because = r.Status, r.Evidence, r.Remedy, r.Because
		checks[i].DurationMS = took // one script answers all
	}
	return checks, nil
}

// Unjudged are the checks of Check, skipped because of another.
func Unjudged(because string) []check.Check {
	var checks []check.Check
	for _, c := range [][2]string{
		{"tools", "the tools that scripts use are there"},
		{"clock", "the clock is right"},
		{"root", "the shared root is a directory of root's"},
		{"prefix", "Cube may mount the shared root"},
		{"directories", "the directories are there, and root's alone"},
		{"filesystem", "the file system is fit for databases"},
		{"probe", "renaming, linking and locking work"},
		{"space", "there is room"},
	} {
		checks = append(checks, check.Check{
			ID: c[0], Title: c[1], Status: check.Skip, Because: because, Evidence: "not judged because " + because + " did not pass",
		})
	}
	return checks
}
