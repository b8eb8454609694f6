package buildctx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Decision is why one path of a source is in the context or not. What is not included and has no rule cannot be carried,
// and the context fails on it.
type Decision struct {
	Path     string `json:"path"`
	PathB64  string `json:"path_b64,omitempty"` // the bytes of a path that is not UTF-8
	Kind     string `json:"kind"`               // of At where that is set
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
		return "", &PathError{Path: path, Reason: NotBelow, Detail: "is not below " + source}
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
			return Decision{}, &PathError{Path: at.path(names[0]), Reason: NoEntry, Detail: "cannot be found in the source", Err: err}
		}
		v, err := r.decide(dir, at, c)
		if err != nil {
			return Decision{}, err
		}
		if v.out() && !v.descend {
			return decision(path, at.path(c.name), c, &v), nil
		}
		if len(names) == 1 {
			return explainLast(dir, at, c, &v, r)
		}
		if c.kind != Dir {
			return Decision{}, &PathError{Path: at.path(c.name), Reason: NoEntry, Detail: "is no directory, so nothing is below it"}
		}
		sub, err := dir.enter(c)
		if err != nil {
			return Decision{}, err
		}
		dir.close()
		dir, at = sub, at.below(c, &v)
	}
}

// explainLast explains what no rule leaves out whole. A directory that a pattern leaves out is in the context where
// another brings back something that it holds.
func explainLast(dir directory, at place, c child, v *verdict, r *rules) (Decision, error) {
	path := at.path(c.name)
	d := decision(path, path, c, v)
	if !v.descend {
		return d, nil
	}
	held, err := r.held(dir, at, c, v)
	switch {
	case errors.Is(err, fs.ErrPermission):
		d.Detail += "; it cannot be read, so no later line brings back what it holds"
	case err != nil:
		return Decision{}, err
	case held == "":
		d.Detail += "; no later line brings back anything that it holds"
	default:
		d.Included, d.Rule = true, ""
		d.Detail = fmt.Sprintf("is in the context for what it holds: %s leaves it out, and a later line brings back %q", d.where(v), held)
	}
	return d, nil
}

// held returns a path in a directory that is carried though the directory is left out; empty where none is.
func (r *rules) held(dir directory, at place, c child, v *verdict) (string, error) {
	sub, err := dir.enter(c)
	if err != nil {
		return "", err
	}
	defer sub.close()
	children, err := sub.list()
	if err != nil {
		return "", err
	}
	at = at.below(c, v)
	for _, c := range children {
		v, err := r.decide(sub, at, c)
		switch {
		case err != nil:
			return "", err
		case v.descend:
			if held, err := r.held(sub, at, c, &v); held != "" || err != nil && !errors.Is(err, fs.ErrPermission) {
				return held, err
			}
		case !v.out() && c.kind != socket:
			return at.path(c.name), nil
		}
	}
	return "", nil
}

// decision puts a verdict into words. A socket is left out whatever the rules say.
func decision(path, decided string, c child, v *verdict) Decision {
	d := Decision{Path: path, PathB64: rawName(path), Kind: c.kind.String(), Included: !v.out(), Rule: v.rule}
	if decided != path {
		d.At = decided
	}
	if v.pattern != nil {
		d.File, d.Line = v.pattern.file, v.pattern.line
	}
	switch {
	case v.out():
	case c.kind == socket:
		d.Included, d.Rule = false, RuleSocket
	case c.kind == fifo, c.kind == device:
		d.Included = false
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
	case d.Included && v.kept != "":
		return "is in the context: context.keep brings it back against the rule " + v.kept
	case d.Included:
		return "is in the context: no rule leaves it out"
	case d.Rule == "":
		return fmt.Sprintf("is a %s, which cannot be carried: the context fails on it until it is removed or excluded", d.Kind)
	case d.File != "":
		return fmt.Sprintf("%s left out by %s", what, d.where(v))
	}
	return fmt.Sprintf("%s left out by the rule %s", what, d.Rule)
}

// where names the pattern that decided.
func (d *Decision) where(v *verdict) string {
	if d.Line > 0 {
		return fmt.Sprintf("%s, line %d: %s", d.File, d.Line, v.rule)
	}
	return d.File + ": " + v.rule
}
