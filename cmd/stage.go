package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"text/tabwriter"

	"github.com/hermesbox/hermesbox/internal/check"
)

// The stages of the pipeline, in their order. The nodes are looked at before
// anything slow, and cannot be the last.
const (
	stageNodes    = "nodes"
	stageContext  = "context"
	stageImage    = "image"
	stageTemplate = "template"
	stageHome     = "home"
	stageSmoke    = "smoke"
	stageVerify   = "verify"
)

// stages are those that can be the last.
var stages = [...]string{stageContext, stageImage, stageTemplate, stageHome, stageSmoke, stageVerify}

// stage is one line of what up and plan print.
type stage struct {
	Stage  string `json:"stage"`
	Action string `json:"action"`
	Reason string `json:"reason"` // why, or why not
	Result string `json:"result"` // digest, image, template id, default home or report; empty where it is not known yet
}

// The actions of stages.
const (
	actionNone     = "none"
	actionRead     = "read"
	actionCheck    = "check"
	actionPrepare  = "prepare"
	actionBuild    = "build"
	actionPush     = "push"
	actionRegister = "register"
	actionMake     = "make"
	actionRefresh  = "refresh"
	actionRun      = "run"
	actionSkip     = "skip"
	actionFail     = "fail"
)

// failedStage is a stage that failed, or that was interrupted.
func failedStage(ctx context.Context, name string, err error) stage {
	if errors.Is(context.Cause(ctx), errInterrupted) {
		err = errInterrupted
	}
	return stage{name, actionFail, err.Error(), ""}
}

// idle tells that a stage has nothing to do but to look.
func (s stage) idle() bool {
	return s.Action == actionNone || s.Action == actionRead || s.Action == actionSkip
}

// idle tells whether all that was looked at was as it should be.
func idle(all []stage) bool {
	return !slices.ContainsFunc(all, func(s stage) bool { return !s.idle() })
}

// resultOf is what a stage made or found.
func resultOf(all []stage, name string) string {
	for _, s := range all {
		if s.Stage == name {
			return s.Result
		}
	}
	return ""
}

// passage is what up and plan print as JSON.
type passage struct {
	Status   string  `json:"status"` // done, unchanged, failed; planned
	Stages   []stage `json:"stages"`
	Context  string  `json:"context"`
	Image    string  `json:"image"`
	Template string  `json:"template"`
	Report   string  `json:"report"`   // path of the report; empty where there is none
	Verified bool    `json:"verified"` // there is a green report of all checks
	// FailedChecks are those of a node or of the template, where that is why up failed.
	FailedChecks []check.Check `json:"failed_checks"`
}

func newPassage(status string, all []stage) passage {
	return passage{
		status, all, resultOf(all, stageContext), resultOf(all, stageImage), resultOf(all, stageTemplate),
		cmp.Or(resultOf(all, stageVerify), resultOf(all, stageSmoke)), resultOf(all, stageVerify) != "",
		[]check.Check{},
	}
}

func printStages(out io.Writer, all []stage) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STAGE\tACTION\tRESULT\tREASON")
	for _, s := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Stage, s.Action, short(firstOf(s.Result, "-")), short(s.Reason))
	}
	return table.Flush()
}

// longDigest is a digest that no line has room for.
var longDigest = regexp.MustCompile(`(sha256:[0-9a-f]{12})[0-9a-f]{52}`)

// short is text for a cell of a table; the whole is in the JSON.
func short(text string) string { return longDigest.ReplaceAllString(printable(text), "$1") }

// firstOf is value, or what stands for none.
func firstOf(value, none string) string {
	if value == "" {
		return none
	}
	return value
}
