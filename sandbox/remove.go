package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/hermesbox/hermesbox/internal/node"
)

// removePlaceScript removes what its arguments after the first name. It follows
// no link: what is a link itself goes, and not what it points to. A directory is
// moved to the stage $1 first where there is one, so that nothing that is half
// removed passes for a home.
const removePlaceScript = `
set -eu
stage=$1
shift
for dir; do
	[ ! -L "${dir%/*}" ] || { echo "${dir%/*} is a link" >&2; exit 1; }
	if [ -d "$stage" ] && [ ! -L "$stage" ] && mv "$dir" "$stage/" 2>/dev/null; then dir=$stage/${dir##*/}; fi
	rm -rf -- "$dir"
done
`

// RemovePlace removes a home and a workspace with all that is in them. The
// caller made both, and no sandbox has them any more.
func RemovePlace(ctx context.Context, n node.Node, p Place) error {
	if err := p.check(); err != nil {
		return err
	}
	var said bytes.Buffer
	code, err := n.Run(ctx, node.Script{
		Text: removePlaceScript, Args: []string{p.Layout.State() + "/stage", p.Layout.Home(p.Home), p.Layout.Workspace(p.Workspace)}, Stderr: &said,
	})
	if err == nil && code != 0 {
		err = errors.Join(exitError(code), errors.New(firstLine(said.String())))
	}
	if err != nil {
		return fmt.Errorf("removing home %s and workspace %s on node %s: %w", p.Home, p.Workspace, n.Name(), err)
	}
	return nil
}
