package image

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/opencontainers/go-digest"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/inside"
)

const rebuild = "build the image again with hermesbox build"

func (t *trial) labels(context.Context) check.Result {
	var have map[string]string
	if t.image.Config != nil {
		have = t.image.Config.Labels
	}
	var missing []string
	for _, name := range []string{LabelContext, LabelRecipe} {
		if _, err := digest.Parse(have[name]); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return failing(rebuild, "no digest in label %s", strings.Join(missing, ", "))
	}
	return passed("context %s, recipe %s", short(have[LabelContext]), short(have[LabelRecipe]))
}

func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

func exposed(found image.InspectResponse) []string {
	var ports []string
	for port := range found.Config.ExposedPorts {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	return ports
}

func (t *trial) ports(context.Context) check.Result {
	var ports []string
	if t.image.Config != nil {
		ports = exposed(t.image)
	}
	var missing []string
	for _, port := range []int{webUIPort, commandPort} {
		if !slices.Contains(ports, fmt.Sprintf("%d/tcp", port)) {
			missing = append(missing, fmt.Sprint(port))
		}
	}
	if len(missing) > 0 {
		return failing("add EXPOSE to the Dockerfile", "not exposed: %s; exposed: %s", strings.Join(missing, ", "), strings.Join(ports, ", "))
	}
	return passed("exposed: %s", strings.Join(ports, ", "))
}

// litter counts macOS metadata by name. Only look-alikes can have been kept on
// purpose; those are in the manifest.
func (t *trial) litter(ctx context.Context) check.Result {
	kept, err := inside.ParseManifest(t.files.manifest)
	if err != nil {
		kept = nil
	}
	var found []string
	for _, name := range t.files.litter {
		if !t.files.alike[name] || !listedBelow(kept, strings.TrimPrefix(name, agentDir+"/")) {
			found = append(found, name)
		}
	}
	if len(found) > 0 {
		return failing("build from a clean context with hermesbox build; hermesbox context check shows what it leaves out",
			"%d found: %s", len(found), listed(found))
	}
	if elsewhere := t.litterElsewhere(ctx); len(elsewhere) > 0 {
		return check.Result{
			Status: check.Warn, Evidence: fmt.Sprintf("none where hermesbox writes; %d elsewhere: %s", len(elsewhere), listed(elsewhere)),
			Remedy: "clean the base image, or what your Dockerfile adds",
		}
	}
	return passed("none")
}

// listedBelow tells whether a manifest has the path, or something below it.
func listedBelow(manifest map[string]string, path string) bool {
	for name := range manifest {
		if name == path || strings.HasPrefix(name, path+"/") {
			return true
		}
	}
	return false
}

// litterElsewhere looks through the rest of the image, as far as it has a find of
// its own. What the recipe noted that the base had is left out.
func (t *trial) litterElsewhere(ctx context.Context) []string {
	if t.stillErr != nil {
		return nil
	}
	script := `find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path ` + agentDir + ` -o -path ` + homeDir +
		` -o -path ` + skillsDir + ` \) -prune -o \( -name '._*' -o -name .DS_Store -o -name __MACOSX -o -name .AppleDouble -o -name .LSOverride -o -name "$(printf 'Icon\r')" \) -print; printf '\n\n'; tr '\0' '\n' </usr/share/hermesbox/base-litter 2>/dev/null || :`
	res, err := t.still.exec(ctx, command{args: []string{"/bin/sh", "-c", script}, limit: shortLimit})
	if err != nil {
		return nil
	}
	line := func(r rune) bool { return r == '\n' }
	found, noted, _ := strings.Cut(res.stdout, "\n\n")
	base := strings.FieldsFunc(noted, line)
	return slices.DeleteFunc(strings.FieldsFunc(found, line), func(name string) bool { return slices.Contains(base, name) })
}

// listed shows the first few of many.
func listed(names []string) string {
	const most = 5
	shown := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		shown = append(shown, fmt.Sprintf("%q", name))
	}
	if len(names) > most {
		shown = append(shown, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(shown, ", ")
}

// source compares what the image holds with the manifest of the context.
func (t *trial) source(context.Context) check.Result {
	if t.files.manifest == nil {
		return failing("let the Dockerfile copy .hermesbox/manifest there", "the image has no %s", manifestInImage)
	}
	want, err := inside.ParseManifest(t.files.manifest)
	if err != nil {
		return failing(rebuild, "%s: %v", manifestInImage, err)
	}
	if len(want) == 0 {
		return failing(rebuild, "%s lists no file", manifestInImage)
	}
	missing, changed, added := inside.Compare(want, t.files.sums)
	if len(missing)+len(changed)+len(added) == 0 && len(t.files.outside) > 0 {
		return check.Result{
			Status:   check.Warn,
			Evidence: fmt.Sprintf("%d files as in the manifest, none added; %d links lead out of the source, which no manifest covers: %s", len(want), len(t.files.outside), listed(t.files.outside)),
			Remedy:   "see whether the source has them: hermesbox context check warns of each",
		}
	}
	if len(missing)+len(changed)+len(added) == 0 {
		return passed("%d files as in the manifest, none added", len(want))
	}
	var parts []string
	for _, group := range []struct {
		what  string
		names []string
	}{{"missing", missing}, {"changed", changed}, {"added", added}} {
		if len(group.names) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s: %s", len(group.names), group.what, listed(group.names)))
		}
	}
	return failing(rebuild, "%s", strings.Join(parts, "; "))
}

// sourceVersion is project.version of the source in the image.
func (f *contents) sourceVersion() string { return versionOf(f.project) }
