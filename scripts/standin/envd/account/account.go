// Package account finds the user that a request speaks for and the paths that user means.
//
// It only reads /etc/passwd and /etc/group through os/user. It checks no permission: the service
// acts as root and afterwards gives what it made to the user.
package account

import (
	"context"
	"fmt"
	"net/http"
	"os/user"
	"strconv"
	"strings"

	"connectrpc.com/connect"
)

type key struct{}

// FromBasic is the user that the Basic credentials of a request name, nil where it has none.
// Broken credentials and other schemes count as none; the password is ignored.
func FromBasic(r *http.Request) (*user.User, error) {
	name, _, ok := r.BasicAuth()
	if !ok {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("invalid username: '%s'", name))
	}
	return u, nil
}

// With keeps the user of a request for From.
func With(ctx context.Context, u *user.User) context.Context {
	return context.WithValue(ctx, key{}, u)
}

// From is the user of With, else the one called fallback; a Connect error where that one is unknown.
func From(ctx context.Context, fallback string) (*user.User, error) {
	if u, ok := ctx.Value(key{}).(*user.User); ok && u != nil {
		return u, nil
	}
	u, err := user.Lookup(fallback)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("invalid default user: '%s'", fallback))
	}
	return u, nil
}

// IDs gives the numbers of a user and its primary group.
func IDs(u *user.User) (uid, gid int, err error) {
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, fmt.Errorf("reading uid of %s: %w", u.Username, err)
	}
	if gid, err = strconv.Atoi(u.Gid); err != nil {
		return 0, 0, fmt.Errorf("reading gid of %s: %w", u.Username, err)
	}
	return uid, gid, nil
}

// Groups gives the numbers of all groups of a user.
func Groups(u *user.User) ([]uint32, error) {
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("reading groups of %s: %w", u.Username, err)
	}
	groups := make([]uint32, 0, len(ids))
	for _, id := range ids {
		n, err := strconv.ParseUint(strings.TrimSpace(id), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("reading group %q of %s: %w", id, u.Username, err)
		}
		groups = append(groups, uint32(n))
	}
	return groups, nil
}
