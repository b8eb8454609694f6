package image

import (
	"bytes"
	"context"
	"fmt"
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
	Modified bool      // tracked files differ from HEAD
	Version  string    // project.version of pyproject.toml
	Time     time.Time // SOURCE_DATE_EPOCH, else of the HEAD commit
}

const gitTimeout = 20 * time.Second

// ReadOrigin asks a tree, and the checkout it was made from, for its version,
// revision and time. Epoch is SOURCE_DATE_EPOCH as given, empty for none.
func ReadOrigin(ctx context.Context, tree *buildctx.Tree, epoch string) (Origin, error) {
	var o Origin
	if root := tree.Root(); root != "" {
		o = readGit(ctx, root)
	}
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || seconds < 0 {
			return o, fmt.Errorf("%w: SOURCE_DATE_EPOCH %q is no count of seconds", ErrSpec, epoch)
		}
		o.Time = time.Unix(seconds, 0).UTC()
	}
	o.Version = projectVersion(tree)
	return o, nil
}

// readGit asks git; a source that is no checkout of its own has no revision.
func readGit(ctx context.Context, root string) Origin {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root, "--no-optional-locks"}, args...)...)
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil || !sameDir(top, root) {
		return Origin{}
	}
	head, err := git("log", "-1", "--format=%H %ct")
	revision, unix, ok := strings.Cut(head, " ")
	seconds, parseErr := strconv.ParseInt(unix, 10, 64)
	if err != nil || !ok || parseErr != nil {
		return Origin{}
	}
	_, diffErr := git("diff", "--quiet", "HEAD")
	return Origin{Revision: revision, Modified: diffErr != nil, Time: time.Unix(seconds, 0).UTC()}
}

func sameDir(a, b string) bool {
	ra, errA := filepath.EvalSymlinks(a)
	rb, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && ra == rb
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
	var project struct {
		Project struct {
			Version string `toml:"version"`
		} `toml:"project"`
	}
	if err := toml.Unmarshal(content.Bytes(), &project); err != nil {
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
