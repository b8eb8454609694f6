package buildctx

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// child is a name in a directory, with its kind as the listing gives it.
type child struct {
	name string
	kind Kind
}

// directory is a directory of a source: on disk, or in a tar.
type directory interface {
	list() ([]child, error)          // sorted by name
	find(name string) (child, error) // fs.ErrNotExist where there is none
	enter(c child) (directory, error)
	target(c child) (string, error) // of a link
	size(c child) int64             // of something left out; 0 where it is unknown
	sniff(c child) (bool, error)    // is the file AppleDouble
	oneOf(c child, some []inode) bool
	file(c child, n *node) // fills in the node now or until the source's wait returns
	odd(rep *report)       // warns of what is odd about the directory itself
	close()
}

// walker builds a store and a report from a source. Problems are gathered rather than returned, so that one run names
// as many as there are.
type walker struct {
	rules    *rules
	nodes    *store
	report   report
	folds    folder
	sink     *sink // nil where no tar is written on the way
	problems problems
}

// problems gathers errors from several goroutines.
type problems struct {
	mu  sync.Mutex
	all []problem
}

func (p *problems) add(path string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, problem{path, err})
}

func (p *problems) join() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return joinProblems(p.all)
}

// dir walks one directory. Only an error that ends the walk is returned.
func (w *walker) dir(ctx context.Context, d directory, at place) error {
	children, err := d.list()
	if err != nil {
		w.problems.add(strings.TrimSuffix(at.prefix, "/"), err)
		return nil
	}
	carried := children[:0:0]
	for _, c := range children {
		if err := ctx.Err(); err != nil {
			return err
		}
		in, err := w.child(ctx, d, at, c)
		if err != nil {
			return err
		}
		if in {
			carried = append(carried, c)
		}
	}
	w.folds.check(&w.report, at, carried)
	return nil
}

// child carries one entry or accounts for it.
func (w *walker) child(ctx context.Context, d directory, at place, c child) (carried bool, err error) {
	v, err := w.rules.decide(d, at, c)
	if err != nil {
		return false, err
	}
	if v.out() && !v.descend {
		w.leaveOut(d, at, c, &v)
		return false, nil
	}
	switch c.kind {
	case Dir:
		return w.subdir(ctx, d, at, c, &v)
	case File:
		d.file(c, w.nodes.at(w.nodes.add(at.node, File, c.name, "")))
	case Link:
		w.link(d, at, c)
	case socket:
		v.rule = RuleSocket
		v.warn = &Warning{Kind: WarnSocket, Path: at.path(c.name), Detail: "is a socket, which no image can hold; left out"}
		w.leaveOut(d, at, c, &v)
		return false, nil
	case fifo:
		w.problems.add(at.path(c.name), &PathError{Path: at.path(c.name), Reason: IsFifo, Detail: "is a named pipe"})
	default:
		w.problems.add(at.path(c.name), &PathError{Path: at.path(c.name), Reason: IsDevice, Detail: "is a device"})
	}
	w.odd(at, c, &v)
	return true, nil
}

// odd warns of what is carried and yet odd.
func (w *walker) odd(at place, c child, v *verdict) {
	w.oddName(at, c)
	if v.kept != "" {
		w.report.warn(Warning{Kind: WarnKept, Path: at.path(c.name), Detail: "is in the context by context.keep, against the rule " + v.kept})
	}
}

func (w *walker) leaveOut(d directory, at place, c child, v *verdict) {
	w.report.exclude(at.path(c.name), v, c.kind, d.size(c))
	if v.warn != nil {
		w.report.warn(*v.warn)
	}
}

func (w *walker) link(d directory, at place, c child) {
	target, err := d.target(c)
	if err != nil {
		w.problems.add(at.path(c.name), err)
		return
	}
	n := w.nodes.add(at.node, Link, c.name, target)
	if w.sink != nil {
		w.sink.link(at.path(c.name), w.nodes.at(n), target)
	}
}

// subdir walks a directory below. One that is left out is carried after all where something in it is; where nothing is,
// one line stands for whatever the walk reported inside.
func (w *walker) subdir(ctx context.Context, d directory, at place, c child, v *verdict) (carried bool, err error) {
	path := at.path(c.name)
	sub, err := d.enter(c)
	if err != nil {
		if v.out() && errors.Is(err, fs.ErrPermission) {
			w.leaveOut(d, at, c, v)
			w.report.warn(Warning{Kind: WarnUnreadable, Path: path, Detail: "cannot be read, so no pattern can bring back what it holds"})
			return false, nil
		}
		w.problems.add(path, err)
		return true, nil
	}
	defer sub.close()
	before := w.report.mark()
	n := w.nodes.add(at.node, Dir, c.name, "")
	if w.sink != nil {
		w.sink.dir(path, w.nodes.at(n), v.out())
	}
	if err := w.dir(ctx, sub, place{prefix: path + "/", node: n, ignore: v.ignore, keep: v.keep}); err != nil {
		return false, err
	}
	if v.out() && w.nodes.count == n+1 {
		w.dropLast(before)
		w.leaveOut(d, at, c, v)
		return false, nil
	}
	if v.out() && w.rules.ignore.classicPrunes(path) {
		w.report.warn(Warning{Kind: WarnClassic, Path: path, Detail: "is left out by " + strconv.Quote(v.rule) +
			" and brought back in part; the classic builder would leave it out whole"})
	}
	sub.odd(&w.report)
	w.odd(at, c, v)
	return true, nil
}

// dropLast takes back a directory in which nothing is carried, and what was reported of it.
func (w *walker) dropLast(before mark) {
	w.nodes.drop()
	w.report.rewind(before)
	if w.sink != nil {
		w.sink.drop()
	}
}
