package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// How many entries are asked for where all are wanted, or where it is to be
// found out which are new; and how often.
const (
	serviceLogLimit = 1000
	serviceLogPoll  = 2 * time.Second
)

// serviceLogs prints what Cube keeps of the sandbox.
func (t *target) serviceLogs(ctx context.Context, opts sandboxLogsOptions) error {
	entries, err := t.link.SandboxLogs(ctx, t.ID, serviceLogLimit)
	if err != nil {
		return sandboxFailed(fmt.Errorf("reading the log of %s: %w", t.Title(), err))
	}
	if len(entries) == 0 && !opts.follow {
		return &failure{err: fmt.Errorf("%s has logged nothing that Cube keeps", t.Title()), code: exitFailed, hint: "see --source webui and --source gateway"}
	}
	shown := entries
	if opts.tail >= 0 {
		shown = entries[max(0, len(entries)-opts.tail):]
	}
	out := newLogPrinter(t.app, nil)
	if err := errors.Join(printEntries(out, shown), out.finish()); err != nil || !opts.follow {
		return err
	}
	return t.followService(ctx, out, entries)
}

func printEntries(out *logPrinter, entries []cube.LogEntry) error {
	for _, e := range entries {
		if err := out.print("", entryText(e)); err != nil {
			return err
		}
	}
	return nil
}

// entryText is an entry on one line.
func entryText(e cube.LogEntry) string {
	var parts []string
	if !e.Timestamp.IsZero() {
		parts = append(parts, e.Timestamp.Format(time.RFC3339))
	}
	if e.Level != "" {
		parts = append(parts, e.Level)
	}
	return strings.Join(append(parts, strings.TrimRight(e.Message, "\n")), " ")
}

// followService asks again and again: Cube has no stream of it.
func (t *target) followService(ctx context.Context, out *logPrinter, seen []cube.LogEntry) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(serviceLogPoll):
		}
		entries, err := t.link.SandboxLogs(ctx, t.ID, serviceLogLimit)
		if err != nil {
			return sandboxFailed(t.followed(ctx, sandboxLogsOptions{follow: true}, fmt.Errorf("reading the log of %s: %w", t.Title(), err)))
		}
		if err := printEntries(out, entries[overlap(seen, entries):]); err != nil {
			return err
		}
		seen = entries
		if now, err := t.link.GetSandbox(ctx, t.ID); errors.Is(err, cube.ErrNotFound) || err == nil && now.State != cube.Running {
			return t.followed(ctx, sandboxLogsOptions{follow: true}, fmt.Errorf("%s does not run", t.Title()))
		}
	}
}

// overlap is how many of the entries are known: the longest beginning of them
// that the known ones end with.
func overlap(known, entries []cube.LogEntry) int {
	for n := min(len(known), len(entries)); n > 0; n-- {
		same := true
		for i := range n {
			a, b := known[len(known)-n+i], entries[i]
			if a.Message != b.Message || !a.Timestamp.Equal(b.Timestamp.Time) {
				same = false
				break
			}
		}
		if same {
			return n
		}
	}
	return 0
}
