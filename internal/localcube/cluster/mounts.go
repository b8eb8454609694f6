package cluster

import (
	"encoding/json"
	"path"
	"path/filepath"
	"strings"

	"github.com/docker/docker/api/types/mount"
)

// SharedPrefix is the one place on the node that may be mounted; it stands for the user's shared root.
const SharedPrefix = "/data/shared/"

// HostMount is a directory of the node in a sandbox.
type HostMount struct {
	HostPath  string `json:"hostPath"`
	MountPath string `json:"mountPath"`
	ReadOnly  bool   `json:"readOnly"`

	source string // on the Engine's machine
}

// ParseMounts reads the host-mount annotation, with CubeMaster's words for what is wrong with it.
func ParseMounts(text string) ([]HostMount, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var list []HostMount
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fault(CodeParams, `invalid "host-mount" annotation: %s`, typeNames.Replace(err.Error()))
	}
	for i, m := range list {
		if err := m.check(i); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// typeNames turns our type's name in encoding/json's errors into CubeMaster's.
var typeNames = strings.NewReplacer("cluster.HostMount", "sandbox.HostDirMountOption", "field HostMount.", "field HostDirMountOption.")

func (m HostMount) check(i int) error {
	switch {
	case !strings.HasPrefix(m.HostPath, "/"):
		return fault(CodeParams, `"host-mount" entry[%d]: hostPath must be an absolute path, got %q`, i, m.HostPath)
	case !strings.HasPrefix(m.MountPath, "/"):
		return fault(CodeParams, `"host-mount" entry[%d]: mountPath must be an absolute path, got %q`, i, m.MountPath)
	case !strings.HasPrefix(path.Clean(m.HostPath)+"/", SharedPrefix):
		return fault(CodeParams, `"host-mount" entry[%d]: hostPath must be under one of [%s], got %q`, i, SharedPrefix, m.HostPath)
	}
	return nil
}

// place turns the node's paths into the Engine machine's. Of two mounts on one
// target the later wins, as on a node, where it lies on top.
func (c *Cluster) place(list []HostMount) []HostMount {
	var out []HostMount
	for i, m := range list {
		covered := false
		for _, later := range list[i+1:] {
			covered = covered || path.Clean(later.MountPath) == path.Clean(m.MountPath)
		}
		if !covered {
			rest := strings.TrimPrefix(path.Clean(m.HostPath)+"/", SharedPrefix)
			m.source = filepath.Join(c.opts.SharedRoot, filepath.FromSlash(rest))
			out = append(out, m)
		}
	}
	return out
}

func (c *Cluster) dockerMounts(list []HostMount) []mount.Mount {
	var out []mount.Mount
	for _, m := range list {
		out = append(out, mount.Mount{Type: mount.TypeBind, Source: m.source, Target: path.Clean(m.MountPath), ReadOnly: m.ReadOnly})
	}
	return out
}
