package sandbox

import (
	"path"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// Where the directories of a node are seen in a sandbox.
const (
	HomeMount      = "/root/.hermes"
	WorkspaceMount = "/workspace"
	SkillsMount    = "/opt/hermes-common-skills"
)

// DefaultHome is the home-id of the home that others are seeded from; no
// sandbox may have it.
const DefaultHome = "default"

// Layout is where things are on a node. Root is the shared root, absolute and
// clean, such as /data/shared.
type Layout struct{ Root string }

// Homes holds the homes, one directory a home-id.
func (l Layout) Homes() string { return path.Join(l.Root, "hermes-homes") }

// Workspaces holds the workspaces, one directory a workspace-id.
func (l Layout) Workspaces() string { return path.Join(l.Root, "hermes-workspaces") }

// Skills holds the public skills.
func (l Layout) Skills() string { return path.Join(l.Root, "hermes-common-skills") }

// Home is the directory of a home.
func (l Layout) Home(id string) string { return path.Join(l.Homes(), id) }

// Workspace is the directory of a workspace.
func (l Layout) Workspace(id string) string { return path.Join(l.Workspaces(), id) }

// State is hermesbox's own directory among the homes; no sandbox mounts it.
func (l Layout) State() string { return path.Join(l.Homes(), ".hermesbox") }

// Default is the directory of the default home.
func (l Layout) Default() string { return l.Home(DefaultHome) }

// Stage holds what is being made; what lies there without a lock is left over.
func (l Layout) Stage() string { return path.Join(l.State(), "stage") }

// Lock is the file that is locked while homes are made.
func (l Layout) Lock() string { return path.Join(l.State(), "lock") }

// Records holds one JSON file a sandbox, named for its id.
func (l Layout) Records() string { return path.Join(l.State(), "sandboxes") }

// Mounts are the three mounts of a sandbox.
func (l Layout) Mounts(home, workspace string) []cube.HostMount {
	return []cube.HostMount{
		{HostPath: l.Home(home), MountPath: HomeMount},
		{HostPath: l.Workspace(workspace), MountPath: WorkspaceMount},
		{HostPath: l.Skills(), MountPath: SkillsMount, ReadOnly: true},
	}
}
