package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/hermesbox/hermesbox/buildctx"
)

// Origin is what a source says of itself. What is not known is empty.
type Origin struct {
	Revision string    // HEAD of a git checkout, 40 or 64 hex digits
	Modified bool      // what is sent differs from HEAD
	NoGit    string    // why git could not tell the revision of a checkout
	Version  string    // project.version of pyproject.toml
	Time     time.Time // SOURCE_DATE_EPOCH, else of the HEAD commit
}

const (
	gitTimeout = 20 * time.Second
	lastSecond = 253402300799 // of the year 9999, the last that RFC 3339 can write
)

// ReadOrigin asks a tree, and the checkout it was made from, for its version,
// revision and time. Epoch is SOURCE_DATE_EPOCH as given, empty for none.
func ReadOrigin(ctx context.Context, tree *buildctx.Tree, epoch string) (Origin, error) {
	o := readGit(ctx, tree)
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || seconds < 0 || seconds > lastSecond {
			return o, fmt.Errorf("%w: SOURCE_DATE_EPOCH %q is no count of seconds since 1970, up to the year 9999", ErrSpec, epoch)
		}
		o.Time = time.Unix(seconds, 0).UTC()
	}
	o.Version = projectVersion(tree)
	return o, nil
}

// readGit asks git; a source that is no checkout of its own has no revision.
func readGit(ctx context.Context, tree *buildctx.Tree) Origin {
	root := tree.Root()
	if root == "" {
		return Origin{}
	}
	if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil {
		return Origin{}
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	head, err := git(ctx, root, "log", "-1", "--format=%H %ct")
	revision, unix, ok := strings.Cut(head, " ")
	seconds, parseErr := strconv.ParseInt(unix, 10, 64)
	if err != nil || !ok || parseErr != nil {
		return Origin{NoGit: gitError(err)}
	}
	return Origin{Revision: revision, Modified: modified(ctx, tree), Time: time.Unix(seconds, 0).UTC()}
}

// git runs git on the checkout at root, whatever repository the environment names.
func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root, "--no-optional-locks"}, args...)...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// gitError is what git said, in a line.
func gitError(err error) string {
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		first, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return first
	case err != nil:
		return err.Error()
	}
	return "it has no commit"
}

// modified tells whether what is sent differs from HEAD: a tracked file was
// changed, or an untracked one is in the context.
func modified(ctx context.Context, tree *buildctx.Tree) bool {
	if _, err := git(ctx, tree.Root(), "diff", "--quiet", "HEAD"); err != nil {
		return true
	}
	untracked, err := git(ctx, tree.Root(), "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return true
	}
	for name := range strings.SplitSeq(untracked, "\x00") {
		if _, ok := tree.Lookup(name); ok {
			return true
		}
	}
	return false
}

// projectVersion is project.version of the tree's pyproject.toml.
func projectVersion(tree *buildctx.Tree) string {
	file, err := tree.Open("pyproject.toml")
	if err != nil {
		return ""
	}
	var content bytes.Buffer
	_, readErr := content.ReadFrom(file)
	if closeErr := file.Close(); readErr != nil || closeErr != nil {
		return ""
	}
	return versionOf(content.Bytes())
}

// versionOf is project.version of a pyproject.toml; empty where it has none.
func versionOf(pyproject []byte) string {
	var project struct {
		Project struct {
			Version string `toml:"version"`
		} `toml:"project"`
	}
	if err := toml.Unmarshal(pyproject, &project); err != nil {
		return ""
	}
	return project.Project.Version
}

// labels are what the origin, the context, the recipe and the base say.
func (o Origin) labels(contextDigest, recipeDigest string, base Base) map[string]string {
	labels := map[string]string{
		LabelContext: contextDigest, LabelRecipe: recipeDigest,
		LabelRevision: o.Revision, LabelVersion: o.Version,
		LabelBaseName: base.Name, LabelBaseDigest: base.Digest,
	}
	if !o.Time.IsZero() {
		labels[LabelCreated] = o.Time.Format(time.RFC3339)
	}
	for name, value := range labels {
		if value == "" {
			delete(labels, name)
		}
	}
	return labels
}
