package skills

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Revision is the git commit that a directory of skills is of.
type Revision struct {
	Commit string `json:"revision"` // the last that changed the directory; empty where git knows none
	Dirty  bool   `json:"dirty"`    // it differs from that commit
}

// String is the revision as people write it; empty where there is none.
func (r Revision) String() string {
	switch {
	case r.Commit == "":
		return ""
	case r.Dirty:
		return short(r.Commit) + " with changes"
	}
	return short(r.Commit)
}

func short(commit string) string { return commit[:min(12, len(commit))] }

const gitTimeout = 20 * time.Second

// ReadRevision asks git, whatever repository the environment names. Without git
// or a repository the revision is empty.
func ReadRevision(ctx context.Context, dir string) Revision {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	commit, err := git(ctx, dir, "log", "-1", "--format=%H", "--", ".")
	if err != nil || commit == "" {
		return Revision{}
	}
	changes, err := git(ctx, dir, "status", "--porcelain", "--untracked-files=all", "--", ".")
	return Revision{commit, err != nil || changes != ""}
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "--no-optional-locks"}, args...)...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
