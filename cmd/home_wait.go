package cmd

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/hermesbox/hermesbox/internal/node"
)

// waitingNode passes on what a script says while it waits for the node's lock,
// so that nobody thinks that it hangs.
type waitingNode struct {
	node.Node
	note func(format string, args ...any)
}

// hearNodes puts a waitingNode around each.
func hearNodes(nodes []node.Node, note func(format string, args ...any)) {
	for i, n := range nodes {
		nodes[i] = waitingNode{n, note}
	}
}

// Run is the node's own, with an ear on standard error.
func (w waitingNode) Run(ctx context.Context, s node.Script) (int, error) {
	s.Stderr = &waitWriter{to: s.Stderr, note: w.note}
	return w.Node.Run(ctx, s)
}

// waitWriter looks for lines of node.LockFunc in what it passes on.
type waitWriter struct {
	to   io.Writer // may be nil
	note func(format string, args ...any)
	line []byte // not ended yet
}

const waitLine = 4 << 10

func (w *waitWriter) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	for {
		line, rest, ok := bytes.Cut(w.line, []byte("\n"))
		if !ok {
			break
		}
		if strings.HasPrefix(string(line), "waiting for ") {
			w.note("%s", printable(string(line)))
		}
		w.line = rest
	}
	if len(w.line) > waitLine {
		w.line = nil
	}
	if w.to == nil {
		return len(p), nil
	}
	return w.to.Write(p)
}
