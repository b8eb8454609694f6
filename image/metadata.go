package image

import (
	"encoding/json"
	"fmt"
)

// WriteMetadata writes what was built to a file, as JSON with the keys of
// docker buildx where it has them.
func (e *Engine) WriteMetadata(path string, img Image) error {
	meta := map[string]any{"image.name": img.Name, "hermesbox": img}
	switch {
	case e.Info.ContainerdStore: // the ID is the manifest's digest there
		meta["containerimage.digest"] = img.ID
	default:
		meta["containerimage.config.digest"] = img.ID
	}
	if img.Digest != "" {
		meta["containerimage.digest"] = img.Digest
	}
	content, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return WriteFile(path, append(content, '\n'))
}
