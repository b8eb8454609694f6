package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is a way in which some version of Cube differs or fails, switched on
// for tests and rehearsals.
type Fault string

// The faults. Each names what people have met on a real cluster.
const (
	OldStatus      Fault = "old-status"        // sandbox failures are 500, as before 0.7.1 (create) and 0.5 (the others)
	DeleteUnknown  Fault = "delete-unknown-ok" // DELETE of an unknown sandbox is 204, as in May 2026
	AsyncPause     Fault = "async-pause"       // pause answers before the sandbox is paused
	ResumeBusy     Fault = "resume-busy"       // a paused sandbox cannot be resumed nor deleted: Device or resource busy
	LoseMetadata   Fault = "lose-metadata"     // a pause loses the sandbox's metadata, as in 0.7.0
	ResumeRejected Fault = "resume-rejected"   // resume is refused by the node's resource policy
	SlowCreate     Fault = "slow-create"       // create is cut off with 408 and an empty body
	NoNode         Fault = "no-node"           // no healthy node: template jobs fail, sandboxes find no resource
	GivenID        Fault = "given-template-id" // a template gets the id that the client gives, as before 0.3
	JobStuck       Fault = "job-stuck"         // template jobs stay in PULLING until it is off, or they are deleted
	// The nodes have no room for the image: jobs fail while DISTRIBUTING.
	DistributeFails Fault = "distribute-fails"
	// The probe never answers: jobs fail while CREATING_TEMPLATE.
	SnapshotFails Fault = "snapshot-fails"
)

var faults = []Fault{OldStatus, DeleteUnknown, AsyncPause, ResumeBusy, LoseMetadata, ResumeRejected, SlowCreate, NoNode, GivenID, JobStuck, DistributeFails, SnapshotFails}

// about says of each fault what it does, for help and errors.
var about = map[Fault]string{
	OldStatus:       "sandbox failures answer 500, as Cube before 0.7.1",
	DeleteUnknown:   "deleting an unknown sandbox answers 204, as Cube in May 2026",
	AsyncPause:      "pause answers three seconds before the sandbox is paused",
	ResumeBusy:      "a paused sandbox cannot be resumed or deleted (Device or resource busy), as Cube before 0.7.0",
	LoseMetadata:    "a pause loses the metadata of the sandbox, as Cube 0.7.0",
	ResumeRejected:  "resume is rejected by the node's resource policy",
	SlowCreate:      "create answers 408 with an empty body",
	NoNode:          "no node is healthy: template jobs fail and sandboxes find no resource",
	GivenID:         "a template gets the id that the client gives, as Cube before 0.3",
	JobStuck:        "template jobs stay in PULLING",
	DistributeFails: "template jobs fail while DISTRIBUTING: the node has no room",
	SnapshotFails:   "template jobs fail while CREATING_TEMPLATE: the probe does not answer",
}

// Faults lists every fault.
func Faults() []Fault { return slices.Clone(faults) }

// About says what a fault does.
func (f Fault) About() string { return about[f] }

// ParseFault reads a fault's name.
func ParseFault(name string) (Fault, error) {
	f := Fault(name)
	if slices.Contains(faults, f) {
		return f, nil
	}
	names := make([]string, len(faults))
	for i, known := range faults {
		names[i] = string(known)
	}
	return "", fmt.Errorf("%q is no fault of the local Cube; there are: %s", name, strings.Join(names, ", "))
}

// SetFaults replaces the faults that are on.
func (c *Cluster) SetFaults(on []Fault) error {
	return c.store.change(func(s *state) { s.Faults = slices.Clone(on) })
}

// ActiveFaults lists the faults that are on.
func (c *Cluster) ActiveFaults() (on []Fault) {
	c.store.view(func(s *state) { on = slices.Clone(s.Faults) })
	return on
}

// Has reports whether a fault is on.
func (c *Cluster) Has(f Fault) bool { return slices.Contains(c.ActiveFaults(), f) }
