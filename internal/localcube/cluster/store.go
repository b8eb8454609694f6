package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// state is the file: all that Docker has no place for.
type state struct {
	Instance  string               `json:"instance"` // tells our containers from those of another state directory
	Templates map[string]*template `json:"templates"`
	Jobs      map[string]*Job      `json:"jobs"`
	Records   map[string]*record   `json:"sandboxes"`
	Faults    []Fault              `json:"faults,omitempty"`
	// Lost says that the file was missing or broken, and that no sandbox was taken
	// over since: any may have been finished, though none has a record.
	Lost bool `json:"lost,omitempty"`
}

// record is what may change of a sandbox after its create, or is known only then.
type record struct {
	Window      int       `json:"window"` // idle seconds, -1 is never
	LastUse     time.Time `json:"last_use"`
	PausedAt    time.Time `json:"paused_at,omitzero"`
	EnvdVersion string    `json:"envd_version,omitempty"`
	Network     *Network  `json:"network,omitempty"` // the request's part, where it was replaced
	Lost        bool      `json:"lost_metadata,omitempty"`
}

// store keeps the state in memory and in its file, which is replaced whole.
type store struct {
	path  string
	mu    sync.Mutex
	s     state
	dirty bool
	other bool // the file is another's

	broken error // what was wrong with the file, and where it is now
}

// stateFile is the name of the file in the state directory.
const stateFile = "state.json"

// openStore reads the state file, and begins anew where it is missing or broken.
func openStore(dir string) (*store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding the state directory: %w", err)
	}
	st := &store{path: filepath.Join(dir, stateFile)}
	text, err := os.ReadFile(st.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		st.s.Lost = true
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	default:
		if st.s, err = parseState(text); err != nil {
			if err := st.setAside(text, err); err != nil {
				return nil, err
			}
		}
	}
	st.fill()
	return st, st.write()
}

func (st *store) fill() {
	if st.s.Instance == "" {
		// From the path, so that what was made is found again where the file was lost.
		sum := sha256.Sum256([]byte(st.path))
		st.s.Instance = hex.EncodeToString(sum[:8])
	}
	if st.s.Templates == nil {
		st.s.Templates = map[string]*template{}
	}
	if st.s.Jobs == nil {
		st.s.Jobs = map[string]*Job{}
	}
	if st.s.Records == nil {
		st.s.Records = map[string]*record{}
	}
}

// view reads; what it sees must not be kept.
func (st *store) view(read func(*state)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	read(&st.s)
}

// change writes, in memory and in the file.
func (st *store) change(edit func(*state)) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	edit(&st.s)
	return st.write()
}

// touch writes in memory only; the next change or save takes it along.
func (st *store) touch(edit func(*state)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	edit(&st.s)
	st.dirty = true
}

// save writes what touch left unwritten.
func (st *store) save() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.dirty {
		return nil
	}
	return st.write()
}

// disown keeps the state from being written.
func (st *store) disown() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.other = true
}

func (st *store) write() error {
	st.dirty = false
	if st.other {
		return nil
	}
	text, err := json.MarshalIndent(st.s, "", " ")
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	next := st.path + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if err := os.Rename(next, st.path); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}
