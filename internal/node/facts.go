package node

import (
	"context"
	_ "embed"
	"strconv"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
)

//go:embed check.sh
var checkScript string

// leftOver is how old a probe is, in minutes, that a killed run left.
const leftOver = "60"

// facts are what a node says of itself, unjudged.
type facts struct {
	before, after time.Time // here, around the node's own time
	time          int64     // there, in Unix seconds
	missing       []string  // tools
	parents, dirs []owned
	links, others []string // in place of directories
	absent        []string
	real          string // where the data is, without links; empty where there is no shared root
	free, inodes  int64  // KiB and inodes left; -1 where unknown
	fs            string // type of file system; empty where unknown
	unwritable    string // why no probe could be made
	able, unable  []string
}

// owned is a directory with its owner and mode; known is false where the node has no stat.
type owned struct {
	path     string
	uid, gid int
	mode     uint64
	known    bool
}

// look asks a node, once.
func look(ctx context.Context, n Node, s Spec) (facts, error) {
	args := []string{leftOver, s.Probe}
	for _, d := range s.Dirs {
		args = append(args, d.Path)
	}
	f := facts{before: time.Now(), free: -1, inodes: -1}
	answers, err := ask(ctx, n, checkScript, args)
	f.after = time.Now()
	if err != nil {
		return f, err
	}
	for _, a := range answers {
		f.take(a)
	}
	return f, nil
}

func (f *facts) take(a answer.Pair) {
	switch a.Key {
	case "time":
		f.time = number(a.Value)
	case "missing":
		f.missing = append(f.missing, a.Value)
	case "parent":
		f.parents = append(f.parents, parseOwned(a.Value))
	case "dir":
		f.dirs = append(f.dirs, parseOwned(a.Value))
	case "link":
		f.links = append(f.links, a.Value)
	case "other":
		f.others = append(f.others, a.Value)
	case "absent":
		f.absent = append(f.absent, a.Value)
	case "real":
		f.real = a.Value
	case "free":
		f.free = number(a.Value)
	case "inodes":
		f.inodes = number(a.Value)
	case "mounts":
		f.fs = fileSystem(a.Value, f.real)
	case "unwritable":
		f.unwritable = a.Value
	case "able":
		f.able = append(f.able, a.Value)
	case "unable":
		f.unable = append(f.unable, a.Value)
	}
}

// number is -1 where there is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// parseOwned reads "uid gid mode path", or " path" of a node without stat.
func parseOwned(text string) owned {
	parts := strings.SplitN(text, " ", 4)
	if len(parts) == 4 {
		uid, err1 := strconv.Atoi(parts[0])
		gid, err2 := strconv.Atoi(parts[1])
		mode, err3 := strconv.ParseUint(parts[2], 8, 32)
		if err1 == nil && err2 == nil && err3 == nil {
			return owned{parts[3], uid, gid, mode, true}
		}
	}
	return owned{path: strings.TrimPrefix(text, " ")}
}

// fileSystem is the type of the file system that path is on, from the text of
// /proc/self/mountinfo (proc(5)): of the mounts that path is below, the longest,
// and of equal ones the last, which hides the others.
func fileSystem(mountinfo, path string) string {
	found, length := "", -1
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) == 0 {
			continue
		}
		at := unescape(fields[4])
		below := path == at || at == "/" || strings.HasPrefix(path, at+"/")
		if below && len(at) >= length {
			found, length = kind[0], len(at)
		}
	}
	return found
}

// unescape undoes the octal escapes of blanks and backslashes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
