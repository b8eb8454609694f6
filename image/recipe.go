package image

import (
	"encoding/json"
	"fmt"
	"slices"
)

// recipe is what decides the image besides the context. Its JSON, with keys in
// this order and maps sorted, is what the recipe digest covers.
type recipe struct {
	Base       string            `json:"base"`       // digest or image ID; empty where the Dockerfile takes none
	BuildArgs  map[string]string `json:"build_args"` // as given by the user
	Dockerfile string            `json:"dockerfile"` // hex sha256
	Files      map[string]string `json:"files"`      // path → hex sha256, of .hermesbox/ but the manifest
	Platform   string            `json:"platform"`
	Secrets    []string          `json:"secrets"` // ids, sorted
	Target     string            `json:"target"`
}

// digest is "sha256:" and the hex sha256 of the canonical JSON.
func (r recipe) digest() (string, error) {
	slices.Sort(r.Secrets)
	content, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("hashing recipe: %w", err)
	}
	return "sha256:" + hexSum(content), nil
}

// recipeOf describes a build whose base is resolved.
func recipeOf(spec Spec, extras []extra) recipe {
	r := recipe{
		Base: spec.Base.Digest, BuildArgs: spec.BuildArgs, Dockerfile: hexSum(spec.Dockerfile.Content),
		Files: map[string]string{}, Platform: spec.Platform, Secrets: []string{}, Target: spec.Target,
	}
	if r.BuildArgs == nil {
		r.BuildArgs = map[string]string{}
	}
	for _, file := range extras {
		if file.path != manifestPath {
			r.Files[file.path] = hexSum(file.content)
		}
	}
	for _, secret := range spec.Secrets {
		r.Secrets = append(r.Secrets, secret.ID)
	}
	if spec.CABundle != "" {
		r.Secrets = append(r.Secrets, CABundleSecret)
	}
	return r
}
