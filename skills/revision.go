package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// ErrRevision means that git does not tell the revision of a directory that is in
// a repository.
var ErrRevision = errors.New("git does not tell the revision")

// ReadRevision asks git, whatever repository the environment names. Without git,
// a repository or a commit the revision is empty.
func ReadRevision(ctx context.Context, dir string) (Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	commit, err := git(ctx, dir, "log", "-1", "--format=%H", "--", ".")
	if err != nil || commit == "" {
		return Revision{}, refused(err)
	}
	changes, err := git(ctx, dir, "status", "--porcelain", "--untracked-files=all", "--", ".")
	return Revision{commit, err != nil || changes != ""}, nil
}

// refused is why git did not answer, nil where there was nothing to tell.
func refused(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return nil // none is installed
	}
	said := lastLine(strings.SplitN(string(exit.Stderr), "\n", 2)[0])
	for _, nothing := range []string{"not a git repository", "does not have any commits", "bad default revision"} {
		if strings.Contains(said, nothing) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrRevision, cmp.Or(said, err.Error()))
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "--no-optional-locks"}, args...)...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C") // the last one counts
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
