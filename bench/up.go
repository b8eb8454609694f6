package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// mostAbove is how many seconds an up that finds nothing to do may take above context check.
const mostAbove = 0.6

const upImage = "hermesbox-bench/up:1"

func secondsAbove(ours, rival sample) float64 { return (ours.wall - rival.wall).Seconds() }

// upBench measures up to the template with nothing changed, on the tree of 22,000 files and over a local Cube, against
// context check of the same tree.
func upBench(ctx context.Context, out io.Writer, o options) (met bool, err error) {
	s := shapes[0]
	tree, err := prepare(ctx, s, o)
	if err != nil {
		return false, err
	}
	w, err := openWorld(ctx, o.hermesbox)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	if err := w.importSelf(ctx, o.self, benchImage); err != nil {
		return false, err
	}
	work, recipe, err := w.project("FROM " + benchImage + "\nCOPY . /src\n")
	if err != nil {
		return false, err
	}
	c := contest{
		name: "up, nothing changed, above context check",
		ours: fmt.Sprintf("XDG_STATE_HOME=%s %s up --cube local --until template -f %s -t %s --probe 9000 --expose-port 9000 %s >/dev/null",
			w.dir, o.hermesbox, recipe, upImage, tree),
		rival: o.hermesbox + " context check " + tree + " >/dev/null",
	}
	w.images = append([]string{upImage}, w.images...) // before what it was made from
	ours, rival, err := play(ctx, work, c, o.runs)    // the first, which builds, does not count
	if err != nil {
		return false, err
	}
	return printTarget(out, s, c, target{"s", secondsAbove, mostAbove}, ours, rival)
}
