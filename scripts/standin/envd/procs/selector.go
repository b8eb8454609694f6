package procs

import (
	"fmt"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// find gives the living process that a selector names.
func (t *table) find(sel *process.ProcessSelector) (*running, error) {
	var r *running
	switch s := sel.GetSelector().(type) {
	case *process.ProcessSelector_Pid:
		r = t.byPID(s.Pid)
	case *process.ProcessSelector_Tag:
		r = t.byTag(s.Tag)
	default:
		return nil, connect.NewError(connect.CodeUnimplemented, fmt.Errorf("invalid input type %T", sel))
	}
	if r == nil {
		return nil, notFound(sel)
	}
	return r, nil
}

// findEnded gives the ended process that a selector names, nil where there is none.
func (t *table) findEnded(sel *process.ProcessSelector) *ended {
	switch s := sel.GetSelector().(type) {
	case *process.ProcessSelector_Pid:
		return t.endedBy(func(e *ended) bool { return e.pid == s.Pid })
	case *process.ProcessSelector_Tag:
		return t.endedBy(func(e *ended) bool { return e.tag != nil && *e.tag == s.Tag })
	}
	return nil
}

func notFound(sel *process.ProcessSelector) error {
	by := fmt.Sprintf("pid %d", sel.GetPid())
	if _, ok := sel.GetSelector().(*process.ProcessSelector_Tag); ok {
		by = "tag " + sel.GetTag()
	}
	return connect.NewError(connect.CodeNotFound, fmt.Errorf("process with %s not found", by))
}
