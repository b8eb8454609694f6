package localcube

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/docker/docker/client"
)

// Where the interfaces listen unless told otherwise.
const (
	DefaultAPI    = "127.0.0.1:3000"
	DefaultMaster = "127.0.0.1:8089"
	DefaultProxy  = "127.0.0.1:8090"
)

// DefaultDomain lets browsers resolve 9000-<id>.localhost.
const DefaultDomain = "localhost"

// Options say how a local Cube is to be.
type Options struct {
	Docker     *client.Client
	StateDir   string // "" is [StateDir]'s
	SharedRoot string // "" is a directory made in the user's data directory
	// Addresses to listen on. "" takes the default, or another port where that is taken.
	API, Master, Proxy string
	Domain             string // "" is DefaultDomain
	NodeID             string // "" is "local"
	Log                *slog.Logger
	// DNS are the resolvers of sandboxes whose template names none; none are the Engine's.
	DNS []netip.Addr

	// TLS, CertFile and KeyFile make the proxy listen for TLS as well.
	TLS, CertFile, KeyFile string
	// Key, for tests: CubeAPI then demands it.
	Key string
	// Pace, for tests, is how long each phase of a template job lasts at least.
	Pace time.Duration
}

// ErrSharedRoot is a shared root that cannot be used.
var ErrSharedRoot = errors.New("shared root cannot be used")

// StateDir is where the local Cube keeps its state: under XDG_STATE_HOME, else under the home directory.
func StateDir(getenv func(string) string) (string, error) {
	return userDir(getenv, "XDG_STATE_HOME", ".local/state", "local")
}

func userDir(getenv func(string) string, variable, under, name string) (string, error) {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hermesbox", name), nil
	}
	home := getenv("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("finding the home directory: %w", err)
		}
	}
	return filepath.Join(home, filepath.FromSlash(under), "hermesbox", name), nil
}

// SharedRoot is the directory used where none is named.
func SharedRoot(getenv func(string) string) (string, error) {
	return userDir(getenv, "XDG_DATA_HOME", ".local/share", "shared")
}

// CheckSharedRoot refuses a directory that cannot stand for /data/shared. The
// error wraps ErrSharedRoot and names the next step.
func CheckSharedRoot(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%w: %q is relative; write it in full", ErrSharedRoot, dir)
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s does not exist; make it with mkdir -p", ErrSharedRoot, dir)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSharedRoot, err)
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := filepath.EvalSymlinks(dir) // only for the hint
		return fmt.Errorf("%w: %s is a link; name where it leads: %s", ErrSharedRoot, dir, target)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is no directory", ErrSharedRoot, dir)
	}
	return nil
}

// fill puts the defaults in and makes the directories that are ours.
func (o *Options) fill() error {
	var err error
	if o.StateDir == "" {
		if o.StateDir, err = StateDir(os.Getenv); err != nil {
			return err
		}
	}
	if o.SharedRoot == "" {
		if o.SharedRoot, err = SharedRoot(os.Getenv); err != nil {
			return err
		}
		if err := os.MkdirAll(o.SharedRoot, 0o755); err != nil {
			return fmt.Errorf("making the shared root: %w", err)
		}
	}
	if o.Domain == "" {
		o.Domain = DefaultDomain
	}
	if o.NodeID == "" {
		o.NodeID = "local"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(CheckDomain(o.Domain), CheckSharedRoot(o.SharedRoot)); err != nil {
		return err
	}
	if _, err := socketPath(o.StateDir); err != nil {
		return err
	}
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return fmt.Errorf("making the state directory: %w", err)
	}
	return nil
}
