package sandbox

import (
	"context"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// FillDefault is SeedDefault without what happens inside the seed sandbox.
func FillDefault(ctx context.Context, n node.Node, l Layout, s Seed) (bool, error) {
	h := holdDefault(ctx, n, l, s)
	defer h.release()
	exists, err := h.wait(ctx)
	if err != nil || exists {
		return false, err
	}
	_, err = s.Cube.CreateSandbox(ctx, cube.NewSandbox{
		TemplateID: s.Template, Metadata: map[string]string{metaSeed: h.id}, Mounts: []cube.HostMount{{HostPath: h.place, MountPath: seedMount}},
	})
	if err != nil {
		return false, err
	}
	return true, h.commit()
}
