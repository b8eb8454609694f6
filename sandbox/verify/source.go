package verify

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/inside"
)

// tree is the source as it is inside.
type tree struct {
	Manifest *string  `json:"manifest"`
	Files    string   `json:"files"`
	Outside  []string `json:"outside"`
	Odd      []string `json:"odd"` // neither file, link nor directory
}

const newImage = "build the image from a clean context with hermesbox build, make a template of it, and rebuild the sandbox"

// unpack undoes what a probe packed.
func unpack(text string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", answer.Err, err)
	}
	r, err := zlib.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", answer.Err, err)
	}
	out, err := io.ReadAll(io.LimitReader(r, probeBytes))
	if err != nil || len(out) == probeBytes {
		return nil, fmt.Errorf("%w: packed text of %d bytes: %w", answer.Err, len(out), err)
	}
	return out, nil
}

// listed is the manifest of the image; nil where it has none.
func (s *subject) listed() (map[string]string, tree, error) {
	var t tree
	if err := s.read("facts", "source", &t); err != nil || t.Manifest == nil {
		return nil, t, err
	}
	text, err := unpack(*t.Manifest)
	if err != nil {
		return nil, t, err
	}
	sums, err := inside.ParseManifest(text)
	return sums, t, err
}

func (s *subject) source(context.Context) check.Result {
	want, t, err := s.listed()
	switch {
	case err != nil:
		return unknown(err)
	case len(want) == 0:
		return failing("let the Dockerfile copy .hermesbox/manifest to /usr/share/hermesbox/manifest, as hermesbox's own does", "the image has no manifest of its source, or an empty one")
	}
	got, err := sums(t.Files)
	if err != nil {
		return unknown(err)
	}
	missing, changed, added := inside.Compare(want, got)
	var parts []string
	for _, group := range []struct {
		what  string
		names []string
	}{{"missing", missing}, {"changed", changed}, {"added", append(added, t.Odd...)}} {
		if len(group.names) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s: %s", len(group.names), group.what, shown(group.names)))
		}
	}
	if len(parts) > 0 {
		return failing(newImage, "%s", strings.Join(parts, "; "))
	}
	if len(t.Outside) > 0 {
		return warning("see whether the source has them: hermesbox context check warns of each",
			"%d files as in the manifest, none added; %d links lead out of the source: %s", len(want), len(t.Outside), shown(t.Outside))
	}
	return passed("%d files as in the manifest, none added", len(want))
}

// sums reads lines "SUM  PATH", each ended by a NUL byte.
func sums(files string) (map[string]string, error) {
	text, err := unpack(files)
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00"), "\x00") {
		sum, name, ok := strings.Cut(line, "  ")
		if line != "" && !ok {
			return nil, fmt.Errorf("%w: %.80q", answer.Err, line)
		}
		if line != "" {
			got[name] = sum
		}
	}
	return got, nil
}
