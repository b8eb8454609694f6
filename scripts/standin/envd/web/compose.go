package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"syscall"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/account"
)

type composition struct {
	SourcePaths []string `json:"source_paths"`
	Destination string   `json:"destination"`
	Username    *string  `json:"username"`
}

// compose joins files to one and removes them. The destination appears whole or not at all.
func (s *Server) compose(w http.ResponseWriter, r *http.Request) {
	var c composition
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		jsonError(w, http.StatusBadRequest, fmt.Errorf("invalid request body: %w", err))
		return
	}
	path, err := s.join(c)
	if errors.Is(err, syscall.ENOSPC) {
		err = failure{http.StatusInsufficientStorage, errFull}
	}
	if err != nil {
		answerError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// Fails only where the client is gone.
	_ = json.NewEncoder(w).Encode(written{Name: filepath.Base(path), Path: path, Type: "file"})
}

func (s *Server) join(c composition) (string, error) {
	switch {
	case len(c.SourcePaths) == 0:
		return "", fail(http.StatusBadRequest, "source_paths must not be empty")
	case c.Destination == "":
		return "", fail(http.StatusBadRequest, "destination is required")
	}
	var name string
	if c.Username != nil {
		name = *c.Username
	}
	u, err := s.user(name, c.Username != nil)
	if err != nil {
		return "", err
	}
	destination, err := account.Resolve(c.Destination, u, s.settings.Workdir())
	if err != nil {
		return "", fail(http.StatusBadRequest, "error resolving destination path: %w", err)
	}
	sources, err := s.sources(c.SourcePaths, u, destination)
	if err != nil {
		return "", err
	}
	if err := concatenate(sources, destination, u); err != nil {
		return "", err
	}
	for _, source := range sources {
		_ = os.Remove(source) // a source that stays harms nobody: the destination is there
	}
	return destination, nil
}

func (s *Server) sources(paths []string, u *user.User, destination string) ([]string, error) {
	var sources []string
	for _, path := range paths {
		source, err := account.Resolve(path, u, s.settings.Workdir())
		if err != nil {
			return nil, fail(http.StatusBadRequest, "error resolving source path %q: %w", path, err)
		}
		if source == destination {
			return nil, fail(http.StatusBadRequest, "source path %q cannot be the same as destination", path)
		}
		info, err := os.Stat(source)
		if err != nil {
			return nil, fail(http.StatusNotFound, "source file not found: %s", path)
		}
		if !info.Mode().IsRegular() {
			return nil, fail(http.StatusBadRequest, "source path is not a regular file: %s", path)
		}
		sources = append(sources, source)
	}
	return sources, nil
}

func concatenate(sources []string, destination string, u *user.User) (err error) {
	uid, gid, err := account.IDs(u)
	if err != nil {
		return fmt.Errorf("error getting user ids: %w", err)
	}
	if err := account.MakeDirs(filepath.Dir(destination), uid, gid); err != nil {
		return fmt.Errorf("error ensuring directories: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(destination), filepath.Base(destination)+".compose.*")
	if err != nil {
		return fmt.Errorf("error creating destination file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = temp.Close()           // given up
			_ = os.Remove(temp.Name()) // as far as it can be
		}
	}()
	if err := temp.Chown(uid, gid); err != nil {
		return fmt.Errorf("error changing file ownership: %w", err)
	}
	if err := temp.Chmod(0o644); err != nil {
		return fmt.Errorf("error changing file mode: %w", err)
	}
	for _, source := range sources {
		if err := appendFile(temp, source); err != nil {
			return err
		}
	}
	if err := temp.Close(); err != nil {
		return fmt.Errorf("error closing destination file: %w", err)
	}
	if err := os.Rename(temp.Name(), destination); err != nil {
		return fmt.Errorf("error finalizing compose: %w", err)
	}
	return nil
}

func appendFile(to *os.File, source string) error {
	from, err := os.Open(source)
	if err != nil {
		return fmt.Errorf("error opening source file %s: %w", source, err)
	}
	defer from.Close() //nolint:errcheck // only read
	if _, err := io.Copy(to, from); err != nil {
		return fmt.Errorf("error composing source %s: %w", source, err)
	}
	return nil
}
