package sandbox

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// The metadata of a sandbox that hermesbox made.
const (
	metaName       = "hermesbox.name"
	metaHome       = "hermesbox.home"
	metaWorkspace  = "hermesbox.workspace"
	metaTemplate   = "hermesbox.template"
	metaGeneration = "hermesbox.generation"
)

// Sandbox is what is known of one. A string that is not known is empty, as the
// name of a sandbox that somebody else made.
type Sandbox struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// State is Cube's word.
	State string `json:"state"`
	// Superseded: another sandbox, made later, has the name now.
	Superseded bool   `json:"superseded"`
	Home       string `json:"home"`
	Workspace  string `json:"workspace"`
	// Node is Cube's id of it.
	Node     string `json:"node"`
	Template string `json:"template"`
	// Outdated: there is a newer READY template of the configured name.
	Outdated bool `json:"outdated"`

	// Generation is when it was made, in nanoseconds since 1970; 0 where
	// hermesbox did not make it.
	Generation int64 `json:"-"`
	// Started is what Cube says, which old versions do not know.
	Started time.Time `json:"-"`
	// Domain ends its host names; lists lack it.
	Domain string `json:"-"`
	// Mounts are known from the record on the node only.
	Mounts []Mount `json:"-"`
	Chosen Chosen  `json:"-"`
}

// Mount is a directory of the node that a sandbox sees.
type Mount struct {
	HostPath  string `json:"host_path"`
	MountPath string `json:"mount_path"`
	ReadOnly  bool   `json:"read_only"`
}

// Made is when the sandbox was made, zero where nobody knows.
func (s Sandbox) Made() time.Time {
	if s.Generation > 0 {
		return time.Unix(0, s.Generation)
	}
	return s.Started
}

// Title is the name, or the id where there is none.
func (s Sandbox) Title() string { return cmp.Or(s.Name, s.ID) }

// Live tells whether a sandbox holds its home: it runs or is paused, and no
// other has taken its name.
func (s Sandbox) Live() bool { return !s.Superseded }

// known makes a Sandbox of what Cube says.
func known(s cube.Sandbox) Sandbox {
	generation, err := strconv.ParseInt(s.Metadata[metaGeneration], 10, 64)
	if err != nil || generation < 0 {
		generation = 0
	}
	return Sandbox{
		ID: s.ID, Name: s.Metadata[metaName], State: s.State,
		Home: s.Metadata[metaHome], Workspace: s.Metadata[metaWorkspace],
		Node: s.ClientID, Template: s.TemplateID, Generation: generation,
		Started: s.StartedAt.Time, Domain: s.Domain, Chosen: chosenOf(s.Metadata),
	}
}

// lost tells that Cube has forgotten what hermesbox told it of a sandbox, or
// never knew.
func (s Sandbox) lost() bool { return s.Name == "" && s.Home == "" && s.Generation == 0 }

// supersede marks those whose name another has. The highest generation holds
// it; of two that are equal, the higher id.
func supersede(all []Sandbox) {
	holder := map[string]Sandbox{}
	for _, s := range all {
		if h, ok := holder[s.Name]; s.Name != "" && (!ok || later(s, h) > 0) {
			holder[s.Name] = s
		}
	}
	for i, s := range all {
		all[i].Superseded = s.Name != "" && holder[s.Name].ID != s.ID
	}
}

func later(a, b Sandbox) int {
	return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.ID, b.ID))
}

// order sorts by name, the holder first; sandboxes without a name come last.
func order(all []Sandbox) {
	slices.SortFunc(all, func(a, b Sandbox) int {
		if (a.Name == "") != (b.Name == "") {
			return cmp.Compare(b.Name, a.Name)
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), later(b, a))
	})
}
