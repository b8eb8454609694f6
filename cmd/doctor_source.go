package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/docker/go-units"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
)

// projectFile is what every checkout of Hermes Agent has.
const projectFile = "pyproject.toml"

// examineSource reads the source as a build would, and asks git about it. The
// working directory is looked at only where it is a checkout.
func (a *app) examineSource(ctx context.Context, loaded *config.Loaded, args []string) []check.Check {
	src := source(args, loaded.Config)
	read := hand[*buildctx.Tree]()
	found := judge(ctx, "source", "the source can be read", "hermesbox context check "+shellWord(src)+" shows how far it gets", func(ctx context.Context) check.Result {
		if len(args) == 0 && loaded.Origin["source"] == "default" && !isCheckout(src) {
			return skip("the working directory is no Hermes Agent checkout: hermesbox doctor SOURCE looks at one")
		}
		tree, err := a.readTree(ctx, src, loaded.Config)
		if err != nil {
			return wrong(err, "")
		}
		read <- tree
		return sourceResult(tree, src, loaded.Config.Image.Dockerfile == "")
	})
	tree, ok := read.take()
	if ok {
		defer tree.Close() //nolint:errcheck // it was only read
	}
	return []check.Check{found, judge(ctx, "git", "git tells the revision", "see whether git status ends there", func(ctx context.Context) check.Result {
		switch {
		case !ok && found.Status == check.Skip:
			return skip("no source was read")
		case !ok:
			return skipBecause("source")
		}
		return gitResult(ctx, tree, a.getenv("SOURCE_DATE_EPOCH"))
	})}
}

func isCheckout(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, projectFile))
	return err == nil
}

func (a *app) readTree(ctx context.Context, src string, cfg config.Config) (*buildctx.Tree, error) {
	opts, err := a.treeOptions(src, cfg, nil)
	if err != nil {
		return nil, err
	}
	return buildctx.Load(ctx, src, opts)
}

// sourceResult is about what a build would send; ours tells that it goes by the
// recipe that hermesbox brings.
func sourceResult(tree *buildctx.Tree, src string, ours bool) check.Result {
	receipt := tree.Receipt()
	litter := 0
	for _, e := range receipt.Excluded {
		if e.Rule == buildctx.RuleLitter {
			litter++
		}
	}
	out := check.Result{
		Status:   check.Pass,
		Evidence: fmt.Sprintf("%s: %s, %s, %d left out, of which %d litter", src, count(receipt.Files, "file"), units.HumanSize(float64(receipt.Bytes)), len(receipt.Excluded), litter),
	}
	if _, ok := tree.Lookup(projectFile); !ok && ours {
		return check.Result{Status: check.Fail, Evidence: fmt.Sprintf("%s: %s are in the context, and no %s among them", src, count(receipt.Files, "file"), projectFile), Remedy: "name the directory of a Hermes Agent checkout, as SOURCE or as source in hermesbox.yaml"}
	}
	if n := len(receipt.Warnings); n > 0 {
		first := receipt.Warnings[0]
		out.Status = check.Warn
		out.Evidence += fmt.Sprintf("; %s, the first of %q: %s", count(n, "warning"), first.Path, first.Detail)
		out.Remedy = "hermesbox context check " + shellWord(src) + " lists what is odd; context.keep and context.exclude decide"
	}
	return out
}

func gitResult(ctx context.Context, tree *buildctx.Tree, epoch string) check.Result {
	origin, err := image.ReadOrigin(ctx, tree, epoch)
	switch {
	case err != nil:
		return wrong(err, "unset SOURCE_DATE_EPOCH, or set it to a number of seconds")
	case origin.NoGit != "":
		return check.Result{Status: check.Warn, Evidence: "no label " + image.LabelRevision + ": git says: " + origin.NoGit, Remedy: gitRemedy(origin.NoGit, tree.Root())}
	case origin.Revision == "":
		return skip("the source is no git checkout: its images have no label " + image.LabelRevision)
	case origin.Modified:
		return check.Result{Status: check.Pass, Evidence: origin.Revision + ", with changes that are in no commit"}
	}
	return check.Result{Status: check.Pass, Evidence: origin.Revision}
}

func gitRemedy(said, root string) string {
	switch {
	case strings.Contains(said, "executable file not found"):
		return "install git"
	case strings.Contains(said, "dubious ownership"):
		return "git config --global --add safe.directory " + shellWord(root)
	case strings.Contains(said, "no commit"), strings.Contains(said, "any commits"):
		return "commit it once"
	}
	return "git -C " + shellWord(root) + " log -1 shows it; images do without the label"
}

// shellWord is a text as a shell takes it for one word.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:@=+,%", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
