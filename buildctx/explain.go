package buildctx

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Decision is why one path of a source is in the context or not.
type Decision struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"`
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
	path = filepath.ToSlash(filepath.Clean(path))
	if !filepath.IsLocal(path) || path == "." {
		return Decision{}, &PathError{Path: path, Reason: BadName, Detail: "is not below " + dir}
	}
	return explain(root, path, r)
}

// explain walks down to one path.
func explain(root, path string, r *rules) (Decision, error) {
	src := &disk{}
	d, err := src.open(unix.AT_FDCWD, root, "")
	if err != nil {
		return Decision{}, err
	}
	var dir directory = d
	at := place{node: -1}
	names := strings.Split(path, "/")
	for i, name := range names {
		c, err := lookup(dir, name, at)
		if err != nil {
			dir.close()
			return Decision{}, err
		}
		v, err := r.decide(dir, at, c)
		if err != nil || i == len(names)-1 || v.out() && !v.descend {
			dir.close()
			return decision(path, at.path(name), c, &v), err
		}
		sub, err := dir.enter(c)
		dir.close()
		if err != nil {
			return Decision{}, err
		}
		dir, at = sub, place{prefix: at.path(name) + "/", node: i, ignore: v.ignore, keep: v.keep}
	}
	return Decision{}, nil
}

// lookup finds what a name in a directory is.
func lookup(d directory, name string, at place) (child, error) {
	var st unix.Stat_t
	if err := lstatat(d.(*diskDir).fd(), name, &st); err != nil {
		return child{}, &PathError{Path: at.path(name), Reason: Missing, Detail: "cannot be found in the source", Err: err}
	}
	return child{name, kindOfStat(uint32(st.Mode))}, nil
}

func kindOfStat(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFLNK:
		return Link
	case unix.S_IFSOCK:
		return socket
	case unix.S_IFIFO:
		return fifo
	}
	return device
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
	d.Detail = d.words()
	return d
}

func (d *Decision) words() string {
	what := "is"
	if d.At != "" {
		what = fmt.Sprintf("is below %q, which is", d.At)
	}
	switch {
	case d.Included:
		return "is in the context: no rule leaves it out"
	case d.File != "" && d.Line > 0:
		return fmt.Sprintf("%s left out by %s, line %d: %s", what, d.File, d.Line, d.Rule)
	case d.File != "":
		return fmt.Sprintf("%s left out by %s: %s", what, d.File, d.Rule)
	}
	return fmt.Sprintf("%s left out by the rule %s", what, d.Rule)
}
