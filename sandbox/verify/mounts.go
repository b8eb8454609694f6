package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/sandbox"
)

// mount is a line of /proc/self/mountinfo.
type mount struct {
	point, root, device, kind string
	readOnly                  bool
}

const rebuildRemedy = "a sandbox cannot gain or change a mount: hermesbox sandbox rebuild makes it anew"

func (s *subject) mounts(context.Context) check.Result {
	var lines []string
	if err := s.read("facts", "mounts", &lines); err != nil {
		return unknown(err)
	}
	found, err := parseMounts(lines)
	if err != nil {
		return unknown(err)
	}
	wanted := []mount{{point: sandbox.HomeMount}, {point: sandbox.WorkspaceMount}, {point: sandbox.SkillsMount, readOnly: true}}
	var problems, good []string
	for _, want := range wanted {
		have, problem := judgeMount(want, found)
		if problem != "" {
			problems = append(problems, problem)
			continue
		}
		good = append(good, fmt.Sprintf("%s %s %s", have.point, have.kind, mode(have.readOnly)))
		for _, other := range wanted[:slices.Index(wanted, want)] {
			if o, _ := judgeMount(other, found); o.device == have.device && nested(o.root, have.root) {
				problems = append(problems, fmt.Sprintf("%s and %s are the same directory, or one in the other", other.point, want.point))
			}
		}
	}
	if len(problems) > 0 {
		return failing(rebuildRemedy, "%s", strings.Join(problems, "; "))
	}
	return passed("%s", strings.Join(good, ", "))
}

// judgeMount finds the mount that is seen at a place, the last one there.
func judgeMount(want mount, all []mount) (found mount, problem string) {
	for _, m := range all {
		switch {
		case m.point == want.point:
			found = m
		case strings.HasPrefix(m.point, want.point+"/"):
			problem = fmt.Sprintf("%q is mounted inside %s, and hides what is there", m.point, want.point)
		}
	}
	switch {
	case found.point == "":
		return found, "nothing is mounted at " + want.point
	case slices.Contains([]string{"tmpfs", "overlay", "ramfs", "proc", "sysfs"}, found.kind):
		return found, fmt.Sprintf("%s is a %s, and no directory of the node", want.point, found.kind)
	case found.readOnly != want.readOnly:
		return found, fmt.Sprintf("%s is mounted %s, not %s", want.point, mode(found.readOnly), mode(want.readOnly))
	}
	return found, problem
}

func mode(readOnly bool) string {
	if readOnly {
		return "read-only"
	}
	return "read-write"
}

// nested tells whether two directories of a file system are one, or one is in
// the other. A file system that shows only what is shared tells nothing: its
// root is / for each.
func nested(a, b string) bool {
	if a == "/" || b == "/" {
		return false
	}
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// parseMounts reads /proc/self/mountinfo, as proc(5) has it.
func parseMounts(lines []string) ([]mount, error) {
	var all []mount
	for _, line := range lines {
		left, right, ok := strings.Cut(line, " - ")
		fields, after := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 6 || len(after) < 3 {
			return nil, fmt.Errorf("%w: %.100q is no line of mountinfo", answer.Err, line)
		}
		readOnly := slices.Contains(strings.Split(fields[5], ","), "ro") || slices.Contains(strings.Split(after[2], ","), "ro")
		all = append(all, mount{
			point: unescapeMount(fields[4]), root: unescapeMount(fields[3]), device: fields[2], kind: after[0], readOnly: readOnly,
		})
	}
	return all, nil
}

// unescapeMount undoes the escapes of mountinfo.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func (s *subject) writeProbe(context.Context) check.Result {
	var found map[string]string
	if err := s.read("facts", "write", &found); err != nil {
		return unknown(err)
	}
	for _, path := range []string{sandbox.HomeMount, sandbox.WorkspaceMount} {
		if why := found[path]; why != "" {
			return failing("free space or inodes on the node, and see how it mounts the file system", "writing a file to %s: %.200q", path, why)
		}
	}
	why := found[sandbox.SkillsMount]
	if why != "EROFS" {
		return failing(rebuildRemedy, "a file could be written to %s, or was refused for another reason than a read-only mount: %.100q", sandbox.SkillsMount, why)
	}
	return passed("files written, locked, synced, renamed and removed in home and workspace; EROFS in %s", sandbox.SkillsMount)
}
