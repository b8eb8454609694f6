package buildctx

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Decision is why one path of a source is in the context or not.
type Decision struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"` // of At where that is set
	Included bool   `json:"included"`
	Rule     string `json:"rule"`           // as in a receipt; empty where no rule applies
	At       string `json:"at,omitempty"`   // the parent directory that the rule is about, where it is not the path
	File     string `json:"file,omitempty"` // of the pattern that decided
	Line     int    `json:"line,omitempty"`
	Detail   string `json:"detail"`
}

// Explain names the rule that decides for one path, relative to dir or absolute, without reading the rest of the source.
func Explain(ctx context.Context, dir, path string, opts Options) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	root, err := resolveRoot(dir)
	if err != nil {
		return Decision{}, err
	}
	r, _, err := diskRules(root, opts)
	if err != nil {
		return Decision{}, err
	}
	if filepath.IsAbs(path) {
		if in := inside(root, []string{path}); len(in) == 1 {
			path = in[0]
		}
	}
	if path, err = below(path, dir); err != nil {
		return Decision{}, err
	}
	top, err := (&disk{}).open(unix.AT_FDCWD, root, "")
	if err != nil {
		return Decision{}, err
	}
	return explain(top, path, r)
}

// ExplainTar is Explain for a tar on a stream, which it reads whole.
func ExplainTar(ctx context.Context, r io.Reader, path string, opts Options) (d Decision, err error) {
	x, err := readIndex(ctx, r)
	if err != nil {
		return d, err
	}
	defer func() { _ = x.spool.file.Close() }() // it goes with its descriptor
	rules, _, err := x.rules(opts)
	if err != nil {
		return d, err
	}
	if path, err = below(path, "the tar"); err != nil {
		return d, err
	}
	return explain(x.top(&report{}), path, rules)
}

// below cleans the path to explain.
func below(path, source string) (string, error) {
	clean := filepath.ToSlash(filepath.Clean(path))
	if !filepath.IsLocal(clean) || clean == "." {
		return "", &PathError{Path: path, Reason: BadName, Detail: "is not below " + source}
	}
	return clean, nil
}

// explain walks down to one path, and closes the directories.
func explain(top directory, path string, r *rules) (Decision, error) {
	dir, at := top, place{node: -1}
	defer func() { dir.close() }()
	for names := strings.Split(path, "/"); ; names = names[1:] {
		c, err := dir.find(names[0])
		if err != nil {
			return Decision{}, &PathError{Path: at.path(names[0]), Reason: Missing, Detail: "cannot be found in the source", Err: err}
		}
		v, err := r.decide(dir, at, c)
		if err != nil {
			return Decision{}, err
		}
		if len(names) == 1 || v.out() && !v.descend {
			return decision(path, at.path(c.name), c, &v), nil
		}
		if c.kind != Dir {
			return Decision{}, &PathError{Path: at.path(c.name), Reason: Missing, Detail: "is no directory, so nothing is below it"}
		}
		sub, err := dir.enter(c)
		if err != nil {
			return Decision{}, err
		}
		dir.close()
		dir, at = sub, place{prefix: at.path(c.name) + "/", ignore: v.ignore, keep: v.keep}
	}
}

// decision puts a verdict into words. A socket is left out whatever the rules say.
func decision(path, decided string, c child, v *verdict) Decision {
	d := Decision{Path: path, Kind: c.kind.String(), Included: !v.out(), Rule: v.rule}
	if v.rule == "" && c.kind == socket {
		d.Included, d.Rule = false, RuleSocket
	}
	if decided != path {
		d.At = decided
	}
	if v.pattern != nil {
		d.File, d.Line = v.pattern.file, v.pattern.line
	}
	d.Detail = d.words(v)
	return d
}

func (d *Decision) words(v *verdict) string {
	what := "is"
	if d.At != "" {
		what = fmt.Sprintf("is below %q, which is", d.At)
	}
	switch {
	case d.Included:
		return "is in the context: no rule leaves it out"
	case v.descend:
		return fmt.Sprintf("is left out by %s, line %d: %s; a later line may bring back what it holds", d.File, d.Line, d.Rule)
	case d.File != "" && d.Line > 0:
		return fmt.Sprintf("%s left out by %s, line %d: %s", what, d.File, d.Line, d.Rule)
	case d.File != "":
		return fmt.Sprintf("%s left out by %s: %s", what, d.File, d.Rule)
	}
	return fmt.Sprintf("%s left out by the rule %s", what, d.Rule)
}
