// Package verify proves that a sandbox works: from inside, through its command
// service, and from outside, through the proxy and on the node. Run checks one
// that is there, Smoke makes sandboxes of its own and removes them.
//
// It repairs nothing, and prints nothing. What a sandbox says is evidence, not
// judgement: facts are gathered inside by scripts that are sent along, and
// compared here. The scripts run in an interpreter that heeds nothing of the
// home, and an answer counts only in one piece, behind the mark of its run.
//
// Invariants: no check has the value of a secret in its evidence; a check that
// cannot be judged because another failed is skipped because of that one;
// nothing is removed but what the same run made.
package verify
