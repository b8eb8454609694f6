package image

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/docker/docker/api/types/versions"
)

// ErrTooNew means that a recipe needs a newer builder.
var ErrTooNew = errors.New("a newer builder is needed")

const dockerfileName = "Dockerfile"

// modern tells whether the builder is BuildKit 0.11, which came with Engine 23
// and API 1.42, or later. It knows SOURCE_DATE_EPOCH.
func (e *Engine) modern() bool {
	return e.bare || versions.GreaterThanOrEqualTo(e.Info.APIVersion, "1.42")
}

// checkSyntax refuses what the Engine's frontend cannot read: Engine 20.10 knows
// no heredocs and few flags.
func (e *Engine) checkSyntax(d *Dockerfile) error {
	if d.Newer == "" || e.modern() {
		return nil
	}
	return fmt.Errorf("%w: %s has %s, which Docker Engine %s cannot read", ErrTooNew, d.Path, d.Newer, e.Info.Version)
}

// frontendAttrs are the options of the Dockerfile frontend.
func (b *Builder) frontendAttrs(spec Spec, labels map[string]string) map[string]string {
	attrs := map[string]string{"filename": dockerfileName, "platform": spec.Platform, "target": spec.Target}
	for name, value := range labels {
		attrs["label:"+name] = value
	}
	for name, value := range b.Engine.Config.ParseProxyConfig(b.Engine.Host, nil) {
		if value != nil {
			attrs["build-arg:"+name] = *value
		}
	}
	for name, value := range spec.BuildArgs {
		attrs["build-arg:"+name] = value
	}
	if spec.Dockerfile.HasBase {
		attrs["build-arg:BASE"] = spec.Base.Ref
	}
	if spec.NoCache {
		attrs["no-cache"] = ""
	}
	if spec.Pull && !spec.Base.Local {
		attrs["image-resolve-mode"] = "pull"
	}
	maps.Copy(attrs, b.epochAttrs(spec))
	maps.DeleteFunc(attrs, func(name, value string) bool { return name == "target" && value == "" })
	return attrs
}

func (b *Builder) epochAttrs(spec Spec) map[string]string {
	switch {
	case spec.Epoch == "":
		return nil
	case b.Engine.modern():
		return map[string]string{"build-arg:SOURCE_DATE_EPOCH": spec.Epoch}
	case spec.Dockerfile.Declares("SOURCE_DATE_EPOCH"):
		b.Note("Engine %s knows no SOURCE_DATE_EPOCH: it sets the label and the recipe's argument, not the layers' times", b.Engine.Info.Version)
		return map[string]string{"build-arg:SOURCE_DATE_EPOCH": spec.Epoch}
	}
	b.Note("Engine %s knows no SOURCE_DATE_EPOCH: it sets only the label", b.Engine.Info.Version)
	return nil
}

// sharedKey names one source directory to the builder, on this machine.
func sharedKey(root string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if root == "" {
		root = "stdin"
	}
	return "hermesbox:" + hexSum([]byte(host+"\x00"+filepath.Clean(root)))
}
