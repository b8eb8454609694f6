package inside

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// ParseManifest reads GNU sha256sum's format, with its escapes, into path → hex sum.
func ParseManifest(content []byte) (map[string]string, error) {
	sums := map[string]string{}
	for n, line := range strings.SplitAfter(string(content), "\n") {
		if line == "" {
			continue
		}
		name, sum, err := parseManifestLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("manifest line %d: %w", n+1, err)
		}
		sums[name] = sum
	}
	return sums, nil
}

func parseManifestLine(line string) (name, sum string, err error) {
	line, escaped := strings.CutPrefix(line, `\`)
	sum, name, ok := strings.Cut(line, "  ")
	if !ok || len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" || name == "" {
		return "", "", fmt.Errorf("not in sha256sum's format: %.80q", line)
	}
	if escaped {
		name, err = unescapeName(name)
	}
	return name, sum, err
}

// unescapeName undoes sha256sum's escapes: \\ \n \r.
func unescapeName(name string) (string, error) {
	var out bytes.Buffer
	for i := 0; i < len(name); i++ {
		if name[i] != '\\' {
			out.WriteByte(name[i])
			continue
		}
		i++
		if i == len(name) {
			return "", fmt.Errorf("unknown escape in %q", name)
		}
		char, ok := map[byte]byte{'\\': '\\', 'n': '\n', 'r': '\r'}[name[i]]
		if !ok {
			return "", fmt.Errorf("unknown escape in %q", name)
		}
		out.WriteByte(char)
	}
	return out.String(), nil
}

// Compare says how files differ from those of a manifest, each list sorted.
// What the recipe makes itself is passed over.
func Compare(want, got map[string]string) (missing, changed, added []string) {
	for name, sum := range want {
		switch have, ok := got[name]; {
		case Made(name):
		case !ok:
			missing = append(missing, name)
		case have != sum:
			changed = append(changed, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			added = append(added, name)
		}
	}
	slices.Sort(missing)
	slices.Sort(changed)
	slices.Sort(added)
	return missing, changed, added
}

// Made tells whether the recipe makes this path below the agent's directory.
func Made(below string) bool {
	first, _, _ := strings.Cut(below, "/")
	return first == ".venv" || strings.HasSuffix(first, ".egg-info") ||
		strings.Contains("/"+below, "/__pycache__/")
}
