package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/template"
)

// openNodes are the nodes that can be worked on: the local Cube's own, else
// those of the configuration in its order; none is no node access. Nothing is
// dialled yet. helper is an image of the Engine for work on the local Cube's
// node; where it is empty one is found. The caller closes them with closeNodes.
func (a *app) openNodes(ctx context.Context, cfg config.Config, link *connected, helper string) ([]node.Node, error) {
	if link != nil && link.local {
		n, err := a.localNode(ctx, cfg, link, helper)
		if err != nil {
			return nil, err
		}
		return []node.Node{n}, nil
	}
	return a.sshNodes(ctx, cfg.Nodes), nil
}

// sshNodes are the nodes of the configuration.
func (a *app) sshNodes(ctx context.Context, configured []config.Node) []node.Node {
	dialer := &sshdial.Dialer{Getenv: a.getenv, AskPassphrase: a.passphrases(ctx)}
	nodes := make([]node.Node, 0, len(configured))
	for _, n := range configured {
		nodes = append(nodes, node.NewSSH(n.Name, n.SSH, n.Become, dialer))
	}
	return nodes
}

// closeNodes gives up their connections.
func closeNodes(nodes []node.Node) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

// localNode is the node of the local Cube that runs.
func (a *app) localNode(ctx context.Context, cfg config.Config, link *connected, helper string) (node.Node, error) {
	engine, err := image.Connect(ctx, "", a.getenv)
	if err != nil {
		return nil, err
	}
	if err = checkNear(engine.Host); err == nil && helper == "" {
		helper, err = findHelper(ctx, cfg, link, engine)
	}
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return node.NewLocal(localcube.Helper{Docker: engine.API, Image: helper, SharedRoot: link.status.SharedRoot}), nil
}

// findHelper finds an image to work on the local Cube's node with.
func findHelper(ctx context.Context, cfg config.Config, link *connected, engine *image.Engine) (string, error) {
	listed, err := (&template.Client{Cube: link.Client}).List(ctx)
	if err != nil {
		return "", cubeFailed(err)
	}
	for _, ref := range helperRefs(cfg, listed) {
		switch _, err := engine.Inspect(ctx, ref); {
		case err == nil:
			return ref, nil
		case !errors.Is(err, image.ErrNoImage):
			return "", err
		}
	}
	return "", &failure{
		err:  fmt.Errorf("working on the local Cube's node: the Engine at %s has %w: none of a template, and not %s", engine.Host, errNoHelper, joinedOr(cfg.Image.Name, cfg.Image.Base)),
		code: exitFailed, hint: "make one with hermesbox up or hermesbox build",
	}
}

// errNoHelper means that the local Cube's node cannot be worked on yet.
var errNoHelper = errors.New("no image for it")

// helperRefs are images that may do, the likeliest first: those of READY
// templates of the configured name, one that was built, the base, and what else
// there is. An image of a stranger need not have a shell.
func helperRefs(cfg config.Config, all []template.Summary) []string {
	var refs []string
	for _, t := range template.Old(all, cfg.Template.Name, 0) {
		refs = append(refs, t.Image)
	}
	refs = append(refs, cfg.Image.Name, cfg.Image.Base)
	for _, ready := range []bool{true, false} {
		for _, t := range all {
			if (t.Status == cube.StatusReady) == ready && !slices.Contains(refs, t.Image) {
				refs = append(refs, t.Image)
			}
		}
	}
	return slices.DeleteFunc(refs, func(ref string) bool { return ref == "" })
}

func joinedOr(refs ...string) string {
	return strings.Join(slices.DeleteFunc(refs, func(ref string) bool { return ref == "" }), " or ")
}
