package cmd

import (
	"errors"

	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/skills"
)

// skillsAdvices go from the most to the least telling.
var skillsAdvices = []advice{
	{skills.ErrNoDir, exitUsage, "name the directory that holds the skills: give DIR, or set skills.source in hermesbox.yaml"},
	{skills.ErrPlace, exitUsage, "name a directory of its own in shared_root, such as /data/shared"},
	{skills.ErrNoRoot, exitFailed, "hermesbox node prepare makes it"},
	{skills.ErrLink, exitFailed, "see who made it and where it leads, and remove it on the node: hermesbox follows no link"},
	{skills.ErrKind, exitFailed, "move it away on the node"},
	{skills.ErrMade, exitFailed, "make it by hand on the node to see why; a read-only or full disk is likely"},
	{skills.ErrTool, exitFailed, "install it on the node; hermesbox node check tells which tools are missing"},
	{skills.ErrLocked, exitFailed, "try again when that run has ended"},
	{skills.ErrLock, exitFailed, "see on the node what it is, and move it away where it is no file of root's; a read-only or full disk is likely else"},
	{skills.ErrBusy, exitFailed, "try again when the others have ended"},
	{skills.ErrMount, exitFailed, "mount only shared_root itself"},
	{skills.ErrStage, exitFailed, "make room on the node, or see what else is wrong with its disk; then run the same command again"},
	{skills.ErrStuck, exitFailed, "make room on the node, or see what else is wrong with its disk; then run the same command again"},
	{skills.ErrCut, exitFailed, "look at the network and at the node; then run the same command again"},
	{skills.ErrNewer, exitFailed, "deploy with that version of hermesbox, or a later one; nothing was touched"},
	{skills.ErrLedger, exitFailed, "nothing was touched. Move the ledger away on the node, and the deployed skills with it; then deploy anew"},
	{skills.ErrChanged, exitFailed, "run the same command again when nobody writes there; nothing was changed on the node"},
	{skills.ErrNoMount, exitFailed, "an old sandbox cannot gain a mount: hermesbox sandbox rebuild makes it anew, with the same home and workspace; in place of one that others made, hermesbox sandbox create makes another"},
	{skills.ErrHome, exitFailed, "put it right in the home; nothing of it was touched"},
}

// skillsFailed gives an error about skills its exit code and the next step.
func skillsFailed(err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	for _, a := range skillsAdvices {
		if errors.Is(err, a.is) {
			return &failure{err: err, code: a.code, hint: a.hint}
		}
	}
	return nodeFailed(err)
}

// boxFailed is skillsFailed for what was done in a sandbox.
func boxFailed(title string, err error) error {
	var f *failure
	if err = skillsFailed(err); errors.As(err, &f) {
		return err
	}
	for _, inside := range []error{envd.ErrNotReady, envd.ErrNoSandbox, envd.ErrUnauthenticated, envd.ErrCut} {
		if errors.Is(err, inside) {
			return insideFailed(title, err)
		}
	}
	return sandboxFailed(err)
}
