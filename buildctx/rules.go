package buildctx

import (
	"slices"
)

// The rules that a receipt names beside the lines of an ignore file.
const (
	RuleLitter    = "litter"
	RuleLookAlike = "look-alike"
	RuleLocal     = "local"
	RuleSocket    = "socket"
	RuleOutput    = "output"
)

// Names at the root that a rule of their own leaves out: what differs from machine to machine and may hold credentials,
// and what hermesbox itself writes.
var (
	localNames  = []string{".git", ".venv"}
	outputNames = []string{"hermesbox.yaml", "hermesbox.lock", ".hermesbox"}
)

// rules decides for each entry whether it is in the context.
type rules struct {
	ignore  *matcher
	keep    *matcher
	outputs []string // files that this run writes, relative to the source
	streams []inode  // and those of which only an open file is known
}

// place is a directory during the walk.
type place struct {
	prefix string // the path with a slash behind it, empty for the root
	node   int    // -1 for the root
	ignore verdicts
	keep   verdicts
}

// below is the place of a directory in it.
func (p place) below(c child, v *verdict) place {
	return place{prefix: p.path(c.name) + "/", ignore: v.ignore, keep: v.keep}
}

func (p place) path(name string) string { return p.prefix + name }

// verdict is the answer for one entry. The zero value carries it.
type verdict struct {
	rule    string   // empty: carried
	pattern *pattern // behind rule, where a pattern decided
	warn    *Warning
	descend bool   // left out, but a pattern may bring back what lies below
	kept    string // the rule that context.keep overrides
	ignore  verdicts
	keep    verdicts
}

func (v *verdict) out() bool { return v.rule != "" }

// decide applies the rules in their order: outputs, local, litter, look-alikes, the ignore file.
func (r *rules) decide(d directory, at place, c child) (verdict, error) {
	path := ""
	if r.needPath(c.name) {
		path = at.path(c.name)
	}
	kept, v, err := r.kept(at, c, path)
	if err != nil {
		return v, err
	}
	if r.byOutput(&v, d, at, c, path) || r.byLocal(&v, at, c, kept) {
		return v, nil
	}
	if r.byLitter(&v, d, at, c, kept); v.out() {
		return v, nil
	}
	if err := r.keep.use(kept, v.kept, path); err != nil {
		return v, err
	}
	return v, r.byIgnore(&v, at, c, path)
}

// needPath spares most walks the making of a string for every file.
func (r *rules) needPath(name string) bool {
	return len(r.ignore.patterns) > 0 || len(r.keep.patterns) > 0 || len(r.outputs) > 0 || mayBeAppleDouble(name)
}

// kept asks the keep patterns, and begins the verdict with what the children need of the answer.
func (r *rules) kept(at place, c child, path string) (*pattern, verdict, error) {
	var v verdict
	if len(r.keep.patterns) == 0 {
		return nil, v, nil
	}
	if c.kind != Dir {
		by, err := r.keep.decideFile(path, at.keep)
		return by, v, err
	}
	v.keep = make(verdicts, len(r.keep.patterns))
	by, err := r.keep.decide(path, at.keep, v.keep)
	return by, v, err
}

func (r *rules) byOutput(v *verdict, d directory, at place, c child, path string) bool {
	switch {
	case at.node < 0 && slices.Contains(outputNames, c.name):
		v.rule = RuleOutput
	case len(r.outputs) > 0 && slices.Contains(r.outputs, path), len(r.streams) > 0 && d.oneOf(c, r.streams):
		v.rule = RuleOutput
		v.warn = &Warning{Kind: WarnOutput, Path: at.path(c.name), Detail: "is written by this run and left out of the context"}
	}
	return v.out()
}

func (r *rules) byLocal(v *verdict, at place, c child, kept *pattern) bool {
	switch {
	case at.node >= 0 || !slices.Contains(localNames, c.name):
	case kept != nil:
		v.kept = RuleLocal
	default:
		v.rule = RuleLocal
	}
	return v.out()
}

func (r *rules) byLitter(v *verdict, d directory, at place, c child, kept *pattern) {
	if isLitterName(c.name, at.node < 0) {
		v.rule = RuleLitter
		return
	}
	if !mayBeAppleDouble(c.name) {
		return
	}
	is, err := isLitterFile(d, c)
	switch {
	case is:
		v.rule = RuleLitter
	case kept != nil:
		v.kept = RuleLookAlike // A file that cannot be read is not left out: reading it fails with its path.
	case err != nil:
		v.rule = RuleLookAlike
		v.warn = &Warning{Kind: WarnLookAlike, Path: at.path(c.name), Detail: "begins with ._ and cannot be read; left out"}
	default:
		v.rule = RuleLookAlike
		v.warn = &Warning{Kind: WarnLookAlike, Path: at.path(c.name), Detail: "begins with ._ but is no AppleDouble file; left out"}
	}
}

func isLitterFile(d directory, c child) (bool, error) {
	if c.kind != File {
		return false, nil
	}
	return d.sniff(c)
}

func (r *rules) byIgnore(v *verdict, at place, c child, path string) error {
	if len(r.ignore.patterns) == 0 {
		return nil
	}
	own := verdicts(r.ignore.scratch)
	if c.kind == Dir {
		own = make(verdicts, len(r.ignore.patterns))
		v.ignore = own
	}
	by, err := r.ignore.decide(path, at.ignore, own)
	if by != nil {
		v.rule, v.pattern = by.text, by
		v.descend = c.kind == Dir && !r.ignore.prunes(path)
	}
	return err
}
