package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/docker/go-units"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/internal/config"
)

// stdinSource is the SOURCE argument that means a tar on standard input.
const stdinSource = "-"

// source is the SOURCE argument, or the configuration's.
func source(args []string, cfg config.Config) string {
	if len(args) > 0 {
		return args[0]
	}
	return cfg.Source
}

// loadTree reads a source as the configuration says; outputs are the files that
// this run writes, "" among them standing for none. The caller closes the tree.
func (a *app) loadTree(ctx context.Context, src string, cfg config.Config, outputs ...string) (*buildctx.Tree, error) {
	opts, err := a.treeOptions(src, cfg, outputs)
	if err != nil {
		return nil, err
	}
	if src == stdinSource {
		a.note("reading a tar from standard input")
		return buildctx.LoadTar(ctx, a.in, opts)
	}
	a.note("reading %s", sourceLabel(src))
	return buildctx.Load(ctx, src, opts)
}

// treeOptions is how a source is read. What standard output and standard error
// are redirected to is written by this run too.
func (a *app) treeOptions(src string, cfg config.Config, outputs []string) (buildctx.Options, error) {
	opts := buildctx.Options{Dockerfile: cfg.Image.Dockerfile, Keep: cfg.Context.Keep, Exclude: cfg.Context.Exclude}
	if src == "" {
		return opts, usagef("the source is empty").withHint("name a directory, or leave it away for the configuration's, or the working directory")
	}
	for _, w := range []io.Writer{a.rawOut, a.rawErr} {
		if f, ok := w.(*os.File); ok {
			opts.Streams = append(opts.Streams, f)
		}
	}
	for _, path := range outputs {
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return opts, fmt.Errorf("resolving %q: %w", path, err)
		}
		opts.Outputs = append(opts.Outputs, abs)
	}
	return opts, nil
}

// warnOf prints a receipt's warnings, the first few of each kind unless -v asks for all.
func (a *app) warnOf(receipt *buildctx.Receipt) {
	const most = 5
	counts := map[string]int{}
	for _, w := range receipt.Warnings {
		counts[w.Kind]++
		if counts[w.Kind] <= most || a.verbose {
			a.warn("%q: %s", w.Path, w.Detail)
		}
	}
	for kind, n := range counts {
		if n > most && !a.verbose {
			a.warn("%d more warnings of kind %s; -v shows them", n-most, kind)
		}
	}
}

// projectDir is where hermesbox.lock and .hermesbox/ are written: beside
// hermesbox.yaml, else in the working directory.
func projectDir(loaded *config.Loaded) string {
	if loaded.Path != "" {
		return filepath.Dir(loaded.Path)
	}
	return "."
}

// sayTree tells what was read, and warns of what looked odd.
func (a *app) sayTree(tree *buildctx.Tree) {
	receipt := tree.Receipt()
	a.warnOf(receipt)
	a.note("context %s: %s, %s, %d left out", receipt.Digest, count(receipt.Files, "file"), units.HumanSize(float64(receipt.Bytes)), len(receipt.Excluded))
}

// count is a number with its word, in the plural where that is due.
func count[N int | int64](n N, word string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}
