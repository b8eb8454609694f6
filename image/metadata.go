package image

import (
	"encoding/json"
	"fmt"
)

// WriteMetadata writes what was built to a file, as JSON with the keys of
// docker buildx where it has them.
func WriteMetadata(path string, img Image) error {
	meta := map[string]any{
		"image.name": img.Name,
		"hermesbox":  img,
	}
	if img.Digest != "" {
		meta["containerimage.digest"] = img.Digest
	} else {
		meta["containerimage.config.digest"] = img.ID
	}
	content, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return WriteFile(path, append(content, '\n'))
}
