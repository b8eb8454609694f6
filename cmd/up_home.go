package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/sandbox"
)

// dueHome is what is to be done about the default home of a node.
type dueHome struct {
	node           node.Node
	action, reason string
}

// homesDue asks all nodes.
func (p *pipeline) homesDue(ctx context.Context, boxes *sandboxes) ([]dueHome, error) {
	all, err := p.app.templateClient(boxes.link).List(ctx)
	if err != nil {
		return nil, cubeFailed(err)
	}
	images := map[string]string{}
	for _, t := range all {
		images[t.ID] = t.Image
	}
	if p.template == "" && !p.due(stageImage) {
		images[""] = p.wanted.Image // of a template that is to be made
	}
	due, errs := onNodes(boxes.client.Nodes, func(n node.Node) (dueHome, error) {
		origin, err := sandbox.DefaultOrigin(ctx, n, boxes.client.Layout)
		action, reason := judgeOrigin(origin, p.template, images)
		return dueHome{n, action, "node " + n.Name() + ": " + reason}, err
	})
	return due, partly(0, errs...)
}

// judgeOrigin decides about a default home; images are those of templates. One
// that somebody changed is never replaced, nor one that is of the same image.
func judgeOrigin(o sandbox.Origin, template string, images map[string]string) (action, reason string) {
	switch {
	case o.State != sandbox.Initialised:
		return actionMake, "it has no default home"
	case o.Template == "":
		return actionNone, "nobody noted what its default home was made from: it is kept"
	case o.Template == template || sameImage(images[o.Template], images[template]):
		return actionNone, "its default home is of this image"
	case o.Changed:
		return actionNone, "its default home was changed by hand: it is kept"
	case images[o.Template] == "":
		return actionRefresh, "its default home is of a template that is there no more"
	}
	return actionRefresh, "its default home is of another image"
}

// sameImage compares references as Cube lists them: behind a tag stands the
// digest that it had, once Cube has pulled it.
func sameImage(a, b string) bool {
	return a != "" && b != "" && (a == b || strings.HasPrefix(a, b+"@") || strings.HasPrefix(b, a+"@"))
}

// summary is what is due on all nodes, as one stage.
func summary(due []dueHome) stage {
	out := stage{stageHome, actionNone, "", sandbox.DefaultHome}
	for _, d := range due {
		switch {
		case out.Action == actionNone && d.action != actionNone:
			return stage{stageHome, d.action, d.reason, ""}
		case out.Reason == "":
			out.Reason = d.reason
		}
	}
	return out
}

// makeHome makes and refreshes default homes. Nothing is asked of the nodes
// where a report says that all is well.
func (p *pipeline) makeHome(ctx context.Context) (stage, error) {
	if report, ok := p.green(); ok {
		return stage{stageHome, actionNone, "as when the report was written: " + report, sandbox.DefaultHome}, nil
	}
	if !p.hasNodes() {
		return stage{stageHome, actionSkip, reasonNoAccess, ""}, nil
	}
	if err := p.openBoxes(ctx); err != nil {
		return stage{}, err
	}
	due, err := p.homesDue(ctx, p.boxes)
	if err != nil {
		return stage{}, err
	}
	byNode := map[string]dueHome{}
	for _, d := range due {
		byNode[d.node.Name()] = d
	}
	made, errs := onNodes(p.boxes.client.Nodes, func(n node.Node) (sandbox.Default, error) {
		return p.makeDefault(ctx, byNode[n.Name()])
	})
	if err := partly(len(made), errs...); err != nil {
		return stage{}, err
	}
	did := summary(due)
	did.Result = sandbox.DefaultHome
	return did, nil
}

func (p *pipeline) makeDefault(ctx context.Context, due dueHome) (sandbox.Default, error) {
	if due.action == actionNone {
		p.app.note("%s", due.reason)
		return sandbox.Default{}, nil
	}
	p.app.note("%s: %s", due.reason, map[string]string{actionMake: "making one", actionRefresh: "making it anew; homes already seeded are not touched"}[due.action])
	made, err := p.boxes.seedDefault(ctx, due.node, p.template, due.action == actionRefresh)
	if err != nil {
		err = fmt.Errorf("default home: %w", err)
	}
	return made, err
}
