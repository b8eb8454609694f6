package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
)

// How long doctor waits for one check; for one of a node, which may ask for a
// passphrase; and then for what was called off to say so.
const (
	doctorPatience = 20 * time.Second
	nodePatience   = 50 * time.Second
	lastWords      = 2 * time.Second
)

// exam is some of what doctor looks at; its checks are printed in their order.
type exam func(context.Context) []check.Check

// one is an exam of one check.
func one(id, title, stuck string, ask func(context.Context) check.Result) exam {
	return func(ctx context.Context) []check.Check { return []check.Check{judge(ctx, id, title, stuck, ask)} }
}

// together makes exams at once.
func together(ctx context.Context, exams ...exam) []check.Check {
	found := make([][]check.Check, len(exams))
	var wait sync.WaitGroup
	for i, exam := range exams {
		wait.Go(func() { found[i] = exam(ctx) })
	}
	wait.Wait()
	return slices.Concat(found...)
}

// judge makes one check in bounded time; stuck is the remedy where that is over.
func judge(ctx context.Context, id, title, stuck string, ask func(context.Context) check.Result) check.Check {
	return check.Run(id, title, func() check.Result { return inTime(ctx, doctorPatience, stuck, ask) })
}

// inTime asks, for as long as patience lasts. What does not heed its context then,
// such as a credential helper or a dead network file system, is left behind: the
// process ends soon.
func inTime(ctx context.Context, patience time.Duration, stuck string, ask func(context.Context) check.Result) check.Result {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer := make(chan check.Result, 1)
	go func() { answer <- ask(ctx) }()
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
	}
	select {
	case r := <-answer: // its own words tell more
		return r
	case <-time.After(lastWords):
		return check.Result{Status: check.Fail, Evidence: fmt.Sprintf("no answer within %s", patience), Remedy: stuck}
	}
}

// handed is what a check made beside its result. One that was left behind hands
// nothing on.
type handed[T any] chan T

func hand[T any]() handed[T] { return make(handed[T], 1) }

// take is what was handed on; ok is false where nothing was.
func (h handed[T]) take() (v T, ok bool) {
	select {
	case v = <-h:
		return v, true
	default:
		return v, false
	}
}

func skip(why string) check.Result { return check.Result{Status: check.Skip, Evidence: why} }

// skipBecause is for what cannot be judged.
func skipBecause(id string) check.Result {
	return check.Result{Status: check.Skip, Because: id, Evidence: "not judged because " + id + " did not pass"}
}

// wrong is a check that failed by an error, with the hint that a command would
// end in, else another.
func wrong(err error, hint string) check.Result {
	var f *failure
	if errors.As(err, &f) && f.hint != "" {
		hint = f.hint
	} else if _, found := explain(err); found != "" {
		hint = found
	}
	return check.Result{Status: check.Fail, Evidence: err.Error(), Remedy: hint}
}

// most is how many findings one check tells.
const most = 4

// condense makes one result of many checks. Passed is what was seen where all
// passed; more tells all findings, and is the remedy where none has one.
func condense(checks []check.Check, passed, more string) check.Result {
	out := check.Result{Status: check.Worst(checks), Evidence: passed}
	var seen, remedies []string
	for _, c := range checks {
		if c.Status != check.Fail && c.Status != check.Warn {
			continue
		}
		seen = append(seen, c.ID+": "+c.Evidence)
		if c.Remedy != "" && !slices.Contains(remedies, c.Remedy) {
			remedies = append(remedies, c.Remedy)
		}
	}
	if len(seen) == 0 {
		return out
	}
	if left := len(seen) - most; left > 0 {
		seen = append(seen[:most], fmt.Sprintf("%d more", left))
		remedies = append(remedies[:min(most, len(remedies))], more)
	}
	out.Evidence, out.Remedy = strings.Join(seen, "; "), firstOf(strings.Join(remedies, "; "), more)
	return out
}
