package verify

import (
	"context"
	"path"
	"strings"

	"github.com/hermesbox/hermesbox/internal/check"
)

const agentDir = "/opt/hermes-agent"

// trashLimit is how much of it is told, TRASH of the facts.
const trashLimit = 20000

// trash is macOS metadata by name; only what is no AppleDouble file can have
// been kept on purpose.
type trash struct {
	Path   string `json:"path"`
	Double bool   `json:"double"`
}

func (s *subject) litter(context.Context) check.Result {
	var found struct {
		Found     []trash  `json:"found"`
		Elsewhere []string `json:"elsewhere"`
	}
	if err := s.read("facts", "litter", &found); err != nil {
		return unknown(err)
	}
	kept, _, _ := s.listed() // without one nothing was kept; the source check tells
	var names []string
	for _, t := range found.Found {
		if !t.keptIn(kept) {
			names = append(names, t.Path)
		}
	}
	if len(found.Found) >= trashLimit {
		names = append(names, "more than can be looked at")
	}
	if len(names) > 0 {
		return failing("remove it from the home or the skills; for the source build from a clean context with hermesbox build", "%d found: %s", len(names), shown(names))
	}
	if len(found.Elsewhere) > 0 {
		return warning("clean the base image, or what your Dockerfile adds", "none where hermesbox writes; %d elsewhere in the image: %s", len(found.Elsewhere), shown(found.Elsewhere))
	}
	return passed("none in %s, the home and the public skills; in the rest of the image none but what its base had", agentDir)
}

// keptIn tells whether a look-alike is in the manifest, or something below it.
func (t trash) keptIn(manifest map[string]string) bool {
	below, ok := strings.CutPrefix(t.Path, agentDir+"/")
	if !ok || t.Double || !strings.HasPrefix(path.Base(below), "._") {
		return false
	}
	for name := range manifest {
		if name == below || strings.HasPrefix(name, below+"/") {
			return true
		}
	}
	return false
}
