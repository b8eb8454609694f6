package skills

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hermesbox/hermesbox/internal/node"
)

// Release is what is deployed, as the ledger names it.
type Release struct {
	Set       *Set
	Revision  Revision
	Hermesbox string // its version
}

// Deployed is what a deploy did on one node, or would do.
type Deployed struct {
	Node    string   `json:"node"`
	Actions []Action `json:"actions"`
	// Same is how many skills were there already.
	Same int `json:"same"`
	// Sent is how many bytes of skills went to the node, compressed where it can.
	Sent int64 `json:"sent"`
	// Finished tells that a deploy that was cut short was done to its end first;
	// Unfinished that the next deploy has to.
	Finished   bool `json:"finished"`
	Unfinished bool `json:"unfinished"`
	// Kept is where skills lie that were changed on the node; empty where none is.
	Kept string `json:"kept"`
}

// Conflicts are the skills whose name something else has on the node.
func (d Deployed) Conflicts() []string {
	var names []string
	for _, a := range d.Actions {
		if a.Action == Conflict {
			names = append(names, a.Skill)
		}
	}
	return names
}

// tries is how often a deploy begins anew because of others.
const tries = 5

// Plan is what Deploy would do.
func Plan(ctx context.Context, n node.Node, p Place, release func() (Release, error)) (Deployed, error) {
	f, r, err := both(ctx, n, p, release)
	if err != nil {
		return Deployed{Node: n.Name()}, fmt.Errorf("looking at the skills on node %s: %w", n.Name(), err)
	}
	return planned(n, p, r, f), nil
}

// both looks at the node while the release is being read.
func both(ctx context.Context, n node.Node, p Place, release func() (Release, error)) (Found, Release, error) {
	type looked struct {
		found Found
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looks := make(chan looked, 1)
	go func() {
		f, err := look(ctx, n, p, "read")
		looks <- looked{f, err}
	}()
	r, err := release()
	if err != nil {
		cancel() // it may be waiting for a lock
		<-looks
		return Found{}, r, err
	}
	l := <-looks
	return l.found, r, l.err
}

func planned(n node.Node, p Place, r Release, f Found) Deployed {
	d := Deployed{Node: n.Name(), Actions: plan(r.Set, f), Unfinished: f.Unfinished}
	d.Same = len(r.Set.Skills)
	for _, a := range d.Actions {
		switch a.Action {
		case Repair:
			d.Kept = p.Kept()
			d.Same--
		case Add, Update, Conflict:
			d.Same--
		case Drop:
			d.Kept = p.Kept()
		}
	}
	return d
}

// Deploy brings a node's public skills to those of a release in which nothing is
// wrong, which is asked for once while the node is looked at; its error ends all.
// It waits for other deploys, finishes one that was cut short, and sends only
// what changed. Where something goes wrong a skill is old or new, never mixed,
// and the next deploy knows what is there.
//
// Its errors are those of this package's Err variables, of release and of the node.
func Deploy(ctx context.Context, n node.Node, p Place, release func() (Release, error)) (Deployed, error) {
	d, err := deploy(ctx, n, p, release)
	if err != nil {
		err = fmt.Errorf("deploying skills to node %s: %w", n.Name(), err)
	}
	return d, err
}

func deploy(ctx context.Context, n node.Node, p Place, release func() (Release, error)) (Deployed, error) {
	f, r, err := both(ctx, n, p, release)
	finished, kept := false, false
	for range tries {
		if err == nil && f.Unfinished {
			finished = true
			f, err = look(ctx, n, p, "finish")
			kept = kept || f.kept
		}
		if err != nil {
			return Deployed{Node: n.Name()}, err
		}
		d := planned(n, p, r, f)
		d.Finished = finished
		if kept {
			d.Kept = p.Kept()
		}
		if !d.work() && (f.Ledger.Revision == r.Revision || f.Ledger.Run == "") {
			return d, nil
		}
		d, err = apply(ctx, n, p, r, f, d)
		if !errors.Is(err, errMoved) {
			return d, err
		}
		f, err = look(ctx, n, p, "read")
	}
	return Deployed{Node: n.Name()}, ErrBusy
}

// work tells whether something is to be done.
func (d Deployed) work() bool {
	return slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Action != Conflict })
}

// apply sends what is to be done.
func apply(ctx context.Context, n node.Node, p Place, r Release, f Found, d Deployed) (Deployed, error) {
	next := Ledger{Version: ledgerVersion, Hermesbox: r.Hermesbox, Time: time.Now().UTC().Truncate(time.Second), Revision: r.Revision, Run: rand.Text()}
	header, err := next.header()
	if err != nil {
		return d, err
	}
	mode := "plain"
	if f.gzip {
		mode = "gzip"
	}
	in, out := io.Pipe()
	sent := make(chan error, 1)
	counted := &counter{to: out}
	go func() {
		err := (&pack{set: r.Set, actions: d.Actions, header: header, time: next.Time}).write(counted, f.gzip)
		out.CloseWithError(err)
		sent <- err
	}()
	answers, err := ask(ctx, n, p, in, "apply", f.Ledger.Run, mode)
	in.Close() //nolint:errcheck // it always returns nil; ends the writer where the script did not read to the end
	if wrong := <-sent; wrong != nil && !errors.Is(wrong, io.ErrClosedPipe) {
		return d, wrong
	}
	if err != nil {
		return d, err
	}
	d.Sent = counted.n
	d.lose(set(answers["lost"]))
	if kept := set(answers["kept"]); len(kept) > 0 {
		d.Kept = p.Kept()
		d.keep(kept)
	}
	return d, nil
}

// lose makes conflicts of skills whose name something else took meanwhile.
func (d *Deployed) lose(names map[string]bool) {
	for i, a := range d.Actions {
		if names[a.Skill] {
			d.Actions[i] = Action{Skill: a.Skill, Action: Conflict}
		}
	}
}

// keep tells of skills that were changed meanwhile.
func (d *Deployed) keep(names map[string]bool) {
	for i, a := range d.Actions {
		switch {
		case !names[a.Skill]:
		case a.Action == Update:
			d.Actions[i].Action = Repair
		case a.Action == Remove:
			d.Actions[i].Action = Drop
		}
	}
}

// counter counts what passes.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}
