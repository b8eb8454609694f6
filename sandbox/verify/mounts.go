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
	id, point, root, device, kind string
	readOnly                      bool
}

const rebuildRemedy = "a sandbox cannot gain or change a mount: hermesbox sandbox rebuild makes it anew"

func (s *subject) mounts(context.Context) check.Result {
	var told struct {
		Lines []string `json:"lines"`
		// Seen are the ids of the mounts that are seen at a path.
		Seen map[string]string `json:"seen"`
	}
	if err := s.read("facts", "mounts", &told); err != nil {
		return unknown(err)
	}
	found, err := parseMounts(told.Lines)
	if err != nil {
		return unknown(err)
	}
	wanted := []mount{{point: sandbox.HomeMount}, {point: sandbox.WorkspaceMount}, {point: sandbox.SkillsMount, readOnly: true}}
	for i := range wanted {
		wanted[i].id = told.Seen[wanted[i].point]
	}
	proven := s.ofNode()
	var problems, good, fleeting []string
	for i, want := range wanted {
		have, problem := judgeMount(want, found, proven)
		if problem != "" {
			problems = append(problems, problem)
			continue
		}
		good = append(good, fmt.Sprintf("%s %s %s", have.point, have.kind, mode(have.readOnly)))
		if inMemory(have.kind) {
			fleeting = append(fleeting, have.point)
		}
		for _, other := range wanted[:i] {
			if o, _ := judgeMount(other, found, proven); o.device == have.device && nested(o.root, have.root) {
				problems = append(problems, fmt.Sprintf("%s and %s are the same directory, or one in the other", other.point, want.point))
			}
		}
	}
	switch {
	case len(problems) > 0:
		return failing(rebuildRemedy, "%s", strings.Join(problems, "; "))
	case len(fleeting) > 0:
		return warning("put the shared root on a disk", "%s; the node has %s in its memory, and loses it when it restarts", strings.Join(good, ", "), strings.Join(fleeting, ", "))
	}
	return passed("%s", strings.Join(good, ", "))
}

// ofNode tells whether the node's own files are seen, or whether that could not be
// tried since none can be written there: that is for the node check to tell.
func (s *subject) ofNode() bool {
	if _, ok := s.here(); ok {
		return true
	}
	p, err := s.nonces.get()
	for _, n := range p.nodes {
		for _, state := range []string{n.home, n.workspace} {
			if err == nil && n.err == nil && state != "planted" && state != "absent" {
				return true
			}
		}
	}
	return false
}

func inMemory(kind string) bool { return kind == "tmpfs" || kind == "ramfs" }

// judgeMount finds the mount that is seen at a place, which is that of its id.
// Proven tells that the node's own files are seen there, so that any kind of file
// system is one of the node's; else one in memory or of layers is the sandbox's.
func judgeMount(want mount, all []mount, proven bool) (found mount, problem string) {
	for _, m := range all {
		switch {
		case m.point == want.point && m.id == want.id:
			found = m
		case strings.HasPrefix(m.point, want.point+"/"):
			problem = fmt.Sprintf("%q is mounted inside %s, and hides what is there", m.point, want.point)
		}
	}
	switch {
	case found.point == "":
		return found, "nothing is mounted at " + want.point + ", or something over it"
	case slices.Contains([]string{"proc", "sysfs", "devtmpfs"}, found.kind), !proven && (found.kind == "overlay" || inMemory(found.kind)):
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
		fields, after := strings.Fields(left), strings.Split(right, " ") // the source may be empty
		if !ok || len(fields) < 6 || len(after) < 3 {
			return nil, fmt.Errorf("%w: %.100q is no line of mountinfo", answer.Err, line)
		}
		readOnly := slices.Contains(strings.Split(fields[5], ","), "ro") || slices.Contains(strings.Split(after[2], ","), "ro")
		all = append(all, mount{
			id: fields[0], point: unescapeMount(fields[4]), root: unescapeMount(fields[3]), device: fields[2], kind: after[0], readOnly: readOnly,
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
