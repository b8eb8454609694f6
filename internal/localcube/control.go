package localcube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// socketName is the socket in the state directory on which only its owner may command the process.
const socketName = "control"

// ErrStateDir is a state directory that cannot be used.
var ErrStateDir = errors.New("state directory cannot be used")

// maxSocket is how long the path of a socket may be on every system that we run on.
const maxSocket = 103

// socketPath is where the socket of a state directory is. The error wraps ErrStateDir.
func socketPath(dir string) (string, error) {
	path := filepath.Join(dir, socketName)
	if len(path) > maxSocket {
		return "", fmt.Errorf("%w: the name of the socket %s has %d bytes, more than %d", ErrStateDir, path, len(path), maxSocket)
	}
	return path, nil
}

const controlTimeout = 2 * time.Minute

// controlStatus is Status with what its JSON for users leaves out.
type controlStatus struct {
	Status
	TLS    string   `json:"proxy_tls,omitempty"`
	Reason string   `json:"egress_reason,omitempty"`
	On     []string `json:"faults,omitempty"`
}

// listenControl opens the socket; one that is left of a killed process is in the way. The caller has the lock.
func listenControl(ctx context.Context, dir string) (net.Listener, error) {
	path, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	return l, os.Chmod(path, 0o600)
}

func (s *server) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		st := s.status()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(controlStatus{st, st.ProxyTLS, st.EgressReason, st.Faults}) // a caller that hung up is none of ours to tell
	})
	mux.HandleFunc("POST /down", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		s.down(errDown)
	})
	mux.HandleFunc("PUT /faults", s.setFaults)
	return mux
}

func (s *server) setFaults(w http.ResponseWriter, r *http.Request) {
	var names []string
	if err := json.NewDecoder(r.Body).Decode(&names); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var on []cluster.Fault
	for _, name := range names {
		f, err := cluster.ParseFault(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		on = append(on, f)
	}
	if err := s.cluster.SetFaults(on); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Ask finds out what serves a state directory; none is a Status that is not Running.
func Ask(ctx context.Context, stateDir string) (Status, error) {
	var out controlStatus
	err := command(ctx, stateDir, http.MethodGet, "/status", nil, &out)
	if errors.Is(err, ErrNotRunning) {
		return Status{}, nil
	}
	st := out.Status
	st.ProxyTLS, st.EgressReason, st.Faults = out.TLS, out.Reason, out.On
	return st, err
}

// SetFaults switches the faults of a running local Cube: those named are on, all others off.
func SetFaults(ctx context.Context, stateDir string, names []string) error {
	if names == nil {
		names = []string{}
	}
	return command(ctx, stateDir, http.MethodPut, "/faults", names, nil)
}

// ErrNotRunning means that nothing answers in the state directory.
var ErrNotRunning = errors.New("no local Cube is running")

// command asks the process of a state directory.
func command(ctx context.Context, stateDir, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	socket, err := socketPath(stateDir)
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("asking the local Cube: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://control"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the local Cube: %w", err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if isGone(err) {
		return fmt.Errorf("%w in %s", ErrNotRunning, stateDir)
	}
	if err != nil {
		return fmt.Errorf("asking the local Cube: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	err = errors.Join(err, resp.Body.Close())
	switch {
	case err != nil:
		return fmt.Errorf("asking the local Cube: %w", err)
	case resp.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("asking the local Cube: %s", bytes.TrimSpace(text))
	case out == nil:
		return nil
	}
	return json.Unmarshal(text, out)
}

// isGone reports whether an error means that no process answers: none is there,
// or the one that was is just being killed.
func isGone(err error) bool {
	for _, gone := range []error{fs.ErrNotExist, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}
