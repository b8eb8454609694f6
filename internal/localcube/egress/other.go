//go:build !linux

package egress

import (
	"context"
	"fmt"
	"runtime"
)

// Supported returns an error that wraps ErrUnsupported: rules are enforced by
// the kernel of Linux.
func Supported() error {
	return fmt.Errorf("%w: this is %s, and they need Linux", ErrUnsupported, runtime.GOOS)
}

// Apply returns the error of Supported.
func Apply(context.Context, Target, Rules) (release func(context.Context) error, err error) {
	return nil, Supported()
}

// Guard returns the error of Supported.
func Guard(_ context.Context, _, _ string) (release func(context.Context) error, err error) {
	return nil, Supported()
}

// Unguard does nothing: there are no guards.
func Unguard(context.Context, string, string) error { return nil }

// List returns no rules: there are none.
func List(context.Context, string) ([]string, error) { return nil, nil }

// Remove does nothing: there are no rules.
func Remove(context.Context, string, string) error { return nil }

// EngineNetNS returns the error of Supported.
func EngineNetNS(context.Context, string) (string, error) { return "", Supported() }
