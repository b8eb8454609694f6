// Package settings holds what POST /init sets for the whole service: environment variables, default
// user and workdir, access token. Nothing of it outlives the process.
//
// A Store is safe for concurrent use. The clock is never set, unlike in the real service: a container
// shares it with its host.
package settings

import (
	"crypto/subtle"
	"errors"
	"maps"
	"sync"
	"time"
)

// Marker is the variable that the service owns: "true" in a microVM, else "false".
const Marker = "E2B_SANDBOX"

// Why an update was refused. The texts are the real service's answers.
var (
	ErrTokenDiffers = errors.New("access token validation failed")
	ErrTokenMissing = errors.New("access token reset not authorized")
)

// Update is what one /init asks for; a nil field leaves things as they are.
type Update struct {
	EnvVars        map[string]string
	AccessToken    *string
	Timestamp      *time.Time
	DefaultUser    *string
	DefaultWorkdir *string
}

// Store is the present state.
type Store struct {
	// Merge makes EnvVars of an update add to the set, as before 0.5.24, instead of replacing it.
	Merge bool

	mu      sync.RWMutex
	marker  string
	env     map[string]string
	user    string
	workdir string
	token   string
	last    time.Time
}

// New is a fresh state: default user root, no token, and only the marker in the environment.
func New(inVM bool) *Store {
	s := &Store{marker: "false", user: "root"}
	if inVM {
		s.marker = "true"
	}
	s.env = map[string]string{Marker: s.marker}
	return s
}

// Apply makes an update. One that is not newer than the last timestamp seen is ignored without an
// error; once a token is set, each update has to repeat it.
func (s *Store) Apply(u Update) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.authorize(u.AccessToken); err != nil {
		return err
	}
	if u.Timestamp != nil && !u.Timestamp.After(s.last) {
		return nil
	}
	if u.Timestamp != nil {
		s.last = *u.Timestamp
	}
	if u.AccessToken != nil {
		s.token = *u.AccessToken
	}
	if u.EnvVars != nil {
		s.setEnv(u.EnvVars)
	}
	if u.DefaultUser != nil && *u.DefaultUser != "" {
		s.user = *u.DefaultUser
	}
	if u.DefaultWorkdir != nil && *u.DefaultWorkdir != "" {
		s.workdir = *u.DefaultWorkdir
	}
	return nil
}

func (s *Store) authorize(token *string) error {
	switch {
	case s.token == "":
		return nil
	case token == nil:
		return ErrTokenMissing
	case !equal(s.token, *token):
		return ErrTokenDiffers
	}
	return nil
}

// setEnv builds a new map, so that one handed out by Env never changes.
func (s *Store) setEnv(vars map[string]string) {
	if s.Merge {
		merged := maps.Clone(s.env)
		maps.Copy(merged, vars)
		s.env = merged
		return
	}
	s.env = maps.Clone(vars)
	s.env[Marker] = s.marker
}

// Env is the set of variables; the caller must not change it.
func (s *Store) Env() map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.env
}

// User is the name of the default user.
func (s *Store) User() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.user
}

// Workdir is the default working directory, empty where none was set.
func (s *Store) Workdir() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.workdir
}

// Token is the access token, empty where none was set.
func (s *Store) Token() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.token
}

// Grants says whether a given token opens the service: none is set, or it is the same.
func (s *Store) Grants(given string) bool {
	token := s.Token()
	return token == "" || equal(token, given)
}

func equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
