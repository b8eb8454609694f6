package verify

import (
	"net/netip"
	"time"
)

// Options say what is verified and against what.
type Options struct {
	// Only and Skip are ids of checks; both empty is all of them.
	Only, Skip []string
	// Endpoints are the model endpoints that the sandbox must reach.
	Endpoints []string
	// Reach tells whether the policy lets the sandbox reach an address, and by
	// which rule; nil where the policy is not known.
	Reach func(netip.Addr) (open bool, rule string)
	// Denied are addresses, host:port, where something is known to listen. Those
	// among them that the policy denies must be out of reach.
	Denied []string
	// NotEnforced says why the policy is not kept to here; empty where it is.
	NotEnforced string
	// Listen has this machine listen for the sandbox, which must not get there:
	// for a local Cube, whose sandboxes have this machine as their gateway.
	Listen bool
	// Notes is a directory of this machine in which Smoke notes a run while it
	// lasts, so that the next one removes what a killed one left; empty is none.
	// Where tells the Cubes and shared roots apart that runs are on.
	Notes, Where string
	// Note is told what is done; may be nil.
	Note func(format string, args ...any)
	// Patience is how long the command service may take, as after a resume; 0
	// is 20 seconds.
	Patience time.Duration
	// Now is the clock that the sandbox's is compared with; nil is this machine's.
	Now func() time.Time
}

func (o Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(format, args...)
	}
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}
