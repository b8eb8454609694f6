package envd

import (
	"context"
	"encoding/json"
	"time"
)

// Entry is a file, directory or other thing. A symlink has the name, size,
// owner and time of the link, and the type and mode of what it leads to.
type Entry struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Type is empty for all but files and directories.
	Type string `json:"type,omitempty"`
	Size int64  `json:"size"`
	// Mode are the nine permission bits; Permissions shows the others too.
	Mode        uint32    `json:"mode"`
	Permissions string    `json:"permissions,omitempty"`
	Owner       string    `json:"owner,omitempty"`
	Group       string    `json:"group,omitempty"`
	ModTime     time.Time `json:"mod_time,omitzero"`
	// LinkTarget is absolute and resolved; empty for what is no symlink. A
	// dangling link names itself.
	LinkTarget string `json:"link_target,omitempty"`
}

// The types of entries.
const (
	File      = "file"
	Directory = "directory"
)

// entryWire is an entry as the service writes it.
type entryWire struct {
	Name          string      `json:"name"`
	Type          string      `json:"type"`
	Path          string      `json:"path"`
	Size          json.Number `json:"size"` // in quotes
	Mode          uint32      `json:"mode"`
	Permissions   string      `json:"permissions"`
	Owner         string      `json:"owner"`
	Group         string      `json:"group"`
	ModifiedTime  string      `json:"modifiedTime"`
	SymlinkTarget string      `json:"symlinkTarget"`
}

func (w entryWire) entry() Entry {
	e := Entry{
		Name: w.Name, Path: w.Path, Mode: w.Mode, Permissions: w.Permissions,
		Owner: w.Owner, Group: w.Group, LinkTarget: w.SymlinkTarget,
	}
	switch w.Type {
	case "FILE_TYPE_FILE":
		e.Type = File
	case "FILE_TYPE_DIRECTORY":
		e.Type = Directory
	}
	if n, err := w.Size.Int64(); err == nil {
		e.Size = n
	}
	if at, err := time.Parse(time.RFC3339Nano, w.ModifiedTime); err == nil {
		e.ModTime = at
	}
	return e
}

type pathRequest struct {
	Path string `json:"path"`
}

// entryCall calls a method that answers with an entry.
func (c *Client) entryCall(ctx context.Context, method string, repeatable bool, in any) (Entry, error) {
	var answer struct {
		Entry entryWire `json:"entry"`
	}
	err := c.quick(ctx, "/filesystem.Filesystem/"+method, repeatable, in, &answer)
	return answer.Entry.entry(), err
}

// Stat tells of one path. Paths that are not absolute begin at the user's home.
func (c *Client) Stat(ctx context.Context, path string) (Entry, error) {
	return c.entryCall(ctx, "Stat", true, pathRequest{path})
}

// MakeDir makes a directory and its parents; one that is there is [ErrExists].
func (c *Client) MakeDir(ctx context.Context, path string) (Entry, error) {
	return c.entryCall(ctx, "MakeDir", false, pathRequest{path})
}

// Move renames; it makes parents and overwrites a file. It neither moves into
// a directory nor between file systems.
func (c *Client) Move(ctx context.Context, from, to string) (Entry, error) {
	in := struct {
		Source      string `json:"source"`
		Destination string `json:"destination"`
	}{from, to}
	return c.entryCall(ctx, "Move", false, in)
}

// ListDir lists a directory down to depth levels, depth first, dot files too.
func (c *Client) ListDir(ctx context.Context, path string, depth int) ([]Entry, error) {
	in := struct {
		pathRequest
		Depth int `json:"depth"`
	}{pathRequest{path}, depth}
	var answer struct {
		Entries []entryWire `json:"entries"`
	}
	err := c.quick(ctx, "/filesystem.Filesystem/ListDir", true, in, &answer)
	var out []Entry
	for _, w := range answer.Entries {
		out = append(out, w.entry())
	}
	return out, err
}

// Remove removes a path and all below it. One that is missing is no error.
func (c *Client) Remove(ctx context.Context, path string) error {
	return c.quick(ctx, "/filesystem.Filesystem/Remove", true, pathRequest{path}, nil)
}
