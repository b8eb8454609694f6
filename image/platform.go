package image

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/platforms"
	bkclient "github.com/moby/buildkit/client"
)

// ParsePlatform makes a platform's name canonical: "linux/amd64". The error wraps ErrSpec.
func ParsePlatform(name string) (string, error) {
	p, err := platforms.Parse(name)
	if err != nil || strings.Count(name, "/") < 1 || p.OS != "linux" {
		return "", fmt.Errorf("%w: platform %q is not linux/ARCH", ErrSpec, name)
	}
	return platforms.Format(platforms.Normalize(p)), nil
}

// native tells whether the Engine's own processor runs the platform.
func (i EngineInfo) native(platform string) bool {
	return samePlatform(i.OS+"/"+i.Arch, platform) || i.Arch == "amd64" && strings.HasPrefix(platform, i.OS+"/amd64/v")
}

// checkPlatform makes sure that the builder can run the platform, and tells
// whether that is by emulation. The error wraps ErrPlatform.
func checkPlatform(ctx context.Context, bk *bkclient.Client, platform string) error {
	workers, err := bk.ListWorkers(ctx)
	if err != nil {
		return fmt.Errorf("asking the builder for its platforms: %w", err)
	}
	want, err := platforms.Parse(platform)
	if err != nil {
		return fmt.Errorf("%w: platform %q", ErrSpec, platform)
	}
	var offered []string
	for _, worker := range workers {
		for _, p := range worker.Platforms {
			if platforms.Only(p).Match(want) {
				return nil
			}
			offered = append(offered, platforms.Format(p))
		}
	}
	return fmt.Errorf("%w: the builder runs %s, not %s", ErrPlatform, strings.Join(offered, ", "), platform)
}
