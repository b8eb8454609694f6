package image

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/opencontainers/go-digest"
	"go.yaml.in/yaml/v3"
)

// LockName is the file that pins what a build resolved, beside hermesbox.yaml.
const LockName = "hermesbox.lock"

// ErrLock means that the lock file cannot be understood.
var ErrLock = errors.New("unreadable lock file")

const lockVersion = 1

// Lock records the digest that each base name was resolved to.
type Lock struct {
	path  string
	Bases map[string]LockedBase // by name and platform, as baseKey makes it

	readOnly bool // Set changes Bases alone
}

// LockedBase is one resolved base.
type LockedBase struct {
	Digest string `yaml:"digest,omitempty"` // of what the registry serves under the name
	ID     string `yaml:"id,omitempty"`     // of a base that only the Engine has
	Layers string `yaml:"layers,omitempty"` // digest over such a base's layers: the ID differs between the Engine's image stores, this does not
}

type lockFile struct {
	Version int                   `yaml:"version"`
	Bases   map[string]LockedBase `yaml:"bases"`
}

// ReadLock reads the lock file at path; one that does not exist is empty.
// The error wraps ErrLock where the content is at fault.
func ReadLock(path string) (*Lock, error) {
	lock := &Lock{path: path, Bases: map[string]LockedBase{}}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lock, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading lock file: %w", err)
	}
	var file lockFile
	dec := yaml.NewDecoder(bytes.NewReader(content))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLock, path, err)
	}
	if file.Version != lockVersion {
		return nil, fmt.Errorf("%w: %s has version %d, this hermesbox knows %d", ErrLock, path, file.Version, lockVersion)
	}
	for key, base := range file.Bases {
		if _, err := digest.Parse(base.Digest + base.ID); err != nil {
			return nil, fmt.Errorf("%w: %s: base %q has no digest or id: %w", ErrLock, path, key, err)
		}
		lock.Bases[key] = base
	}
	return lock, nil
}

// Set records a base and writes the file, in one step, where that changes it.
func (l *Lock) Set(key string, base LockedBase) error {
	if old, ok := l.Bases[key]; ok && old == base {
		return nil
	}
	l.Bases[key] = base
	if l.readOnly {
		return nil
	}
	content, err := yaml.Marshal(lockFile{Version: lockVersion, Bases: l.Bases})
	if err != nil {
		return fmt.Errorf("writing lock file: %w", err)
	}
	head := []byte("# What hermesbox resolved; commit it. `hermesbox build --update-base` moves a base.\n")
	return WriteFile(l.path, append(head, content...))
}
