package sandbox

import (
	"context"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
)

// SeedHome copies the default home of a node to a home that is absent or empty,
// in one step. An initialised one is left alone. Errors are as Prepare's.
func SeedHome(ctx context.Context, n node.Node, l Layout, home string) (done string, err error) {
	return seedHome(ctx, n, l, home, "prepare.sh")
}

// AdoptHome makes a home of a directory that has entries but no config.yaml: it
// gets what it lacks of the default home, name by name, and config.yaml last.
// Nothing that is there is touched, and no link is followed. The caller makes
// sure that no sandbox mounts it. Any other home is treated as SeedHome does.
func AdoptHome(ctx context.Context, n node.Node, l Layout, home string) (done string, err error) {
	return seedHome(ctx, n, l, home, "adopt.sh")
}

func seedHome(ctx context.Context, n node.Node, l Layout, home, name string) (done string, err error) {
	if problem := config.CheckID(home); problem != "" {
		return "", fmt.Errorf("%w: home: %s", ErrSpec, problem)
	}
	s := nodeScript{name: name, args: []string{l.Root, home, random(), "", "", ""}, place: Place{Layout: l, Home: home}}
	if err := ask(ctx, n, s, takeWord("home", &done)); err != nil {
		return "", fmt.Errorf("seeding home %s on node %s: %w", home, n.Name(), err)
	}
	return done, nil
}
