package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const metadataHeader = "X-Metadata-"

// metadata reads the X-Metadata-… headers of an upload: keys in lower case, values of printable ASCII.
func metadata(h http.Header) (map[string]string, error) {
	var found map[string]string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key, ok := strings.CutPrefix(name, metadataHeader)
		if !ok || key == "" {
			continue
		}
		key = strings.ToLower(key)
		value := h.Get(name)
		for i := range len(value) {
			if value[i] < ' ' || value[i] > '~' {
				return nil, fmt.Errorf("metadata value for key %q contains non-printable-ASCII byte 0x%02x at offset %d", key, value[i], i)
			}
		}
		if found == nil {
			found = map[string]string{}
		}
		found[key] = value
	}
	return found, nil
}
