package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrUsers means that the Web UI has users and passwords, and takes no token in
// its address: version 0.6.0 and later.
var ErrUsers = errors.New("this Web UI has users and passwords, and no token")

// login is what the Web UI says of logging in.
type login struct {
	// HasUsers is there since 0.6.0.
	HasUsers *bool `json:"hasUsers"`
}

// How long the token file may take to appear.
const (
	tokenTimeout = 10 * time.Second
	tokenPoll    = 300 * time.Millisecond
)

// url is step 9.
func (m *making) url(ctx context.Context) (outcome, error) {
	m.made.URL = m.Route.WebUI(m.made.Sandbox)
	if m.spec.NoWebUI {
		return skipped("--no-web-ui")
	}
	deadline := time.Now().Add(tokenTimeout)
	for {
		_, err := m.Token(ctx, m.made.Sandbox, m.service)
		switch {
		case err == nil:
			return done("%s (its token is not shown)", m.made.URL)
		case errors.Is(err, ErrUsers):
			return done("%s (log in with user and password)", m.made.URL)
		case !errors.Is(err, ErrNoToken) || time.Now().After(deadline):
			return outcome{}, err
		}
		select {
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		case <-time.After(tokenPoll):
		}
	}
}

// users tells whether the Web UI is one with users, and warns where nobody has
// logged in yet. One that does not answer is none.
func (c *Client) users(ctx context.Context, s Sandbox) bool {
	var l login
	if err := c.ask(ctx, s, "/api/auth/status", &l); err != nil || l.HasUsers == nil {
		return false
	}
	if !*l.HasUsers {
		c.warn("nobody has logged in to %s yet: whoever comes first with user admin and password 123456 becomes its administrator; log in and change the password now", s.Title())
	}
	return true
}

// TokenURL is the address of a Web UI with its token.
func TokenURL(address, token string) string { return fmt.Sprintf("%s#/?token=%s", address, token) }
