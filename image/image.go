// Package image turns a clean context into an image with BuildKit, and says
// what an image holds.
//
// The context goes to the builder as a differential transfer of the tree that
// was hashed: each file is checked again while it streams, so what arrives is
// what the digest names, or the build fails. The package runs no other program
// but git, to ask a checkout for its revision, and writes nothing into the source.
package image

// Image is an image in an Engine.
type Image struct {
	Name     string            `json:"name"`     // first tag, as given
	ID       string            `json:"id"`       // what the Engine calls it: "sha256:…"
	Digest   string            `json:"digest"`   // of the platform manifest in a registry; empty until pushed
	Platform string            `json:"platform"` // "os/arch[/variant]"
	Labels   map[string]string `json:"labels"`
}

// Ref is what the next command takes: name@digest where the image was pushed,
// else its ID.
func (i Image) Ref() string {
	if i.Digest != "" {
		return i.Name + "@" + i.Digest
	}
	return i.ID
}

// Labels that hermesbox puts on an image.
const (
	LabelContext    = "hermesbox.context.digest"
	LabelRecipe     = "hermesbox.recipe.digest"
	LabelRevision   = "org.opencontainers.image.revision"
	LabelVersion    = "org.opencontainers.image.version"
	LabelCreated    = "org.opencontainers.image.created"
	LabelBaseName   = "org.opencontainers.image.base.name"
	LabelBaseDigest = "org.opencontainers.image.base.digest"
)

// CABundleSecret is the id of the build secret that a CA bundle becomes.
const CABundleSecret = "ca-bundle"

const (
	manifestInImage = "/usr/share/hermesbox/manifest"
	extrasDir       = ".hermesbox"
)
