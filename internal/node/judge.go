package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
)

func pass(format string, args ...any) check.Result {
	return check.Result{Status: check.Pass, Evidence: fmt.Sprintf(format, args...)}
}

func because(id string) check.Result {
	return check.Result{Status: check.Skip, Because: id, Evidence: "not judged because " + id + " did not pass"}
}

func (f facts) judgeTools() check.Result {
	const remedy = "install them on the node (coreutils, findutils, util-linux, tar, sed, grep)"
	switch {
	case len(f.missing) == 0:
		return pass("all are there")
	case slices.Equal(f.missing, []string{"flock"}):
		return check.Result{Status: check.Warn, Evidence: "no flock: locks are slower, and end with their owner though what it started may go on", Remedy: "install util-linux on the node"}
	}
	return check.Result{Status: check.Fail, Evidence: "missing: " + strings.Join(f.missing, ", "), Remedy: remedy}
}

// judgeClock allows for the time that the answer took, and for the node's
// telling whole seconds.
func (f facts) judgeClock() check.Result {
	if f.time <= 0 {
		return check.Result{Status: check.Warn, Evidence: "the node does not tell its time", Remedy: "see whether date +%s works there"}
	}
	there, side := time.Unix(f.time, 0), "behind"
	skew := f.before.Sub(there.Add(time.Second))
	if ahead := there.Sub(f.after); ahead > skew {
		skew, side = ahead, "ahead"
	}
	switch {
	case skew <= smallSkew:
		return pass("within %v of this machine's", smallSkew)
	case skew <= largeSkew:
		return check.Result{Status: check.Warn, Evidence: fmt.Sprintf("%v %s of this machine's", skew.Round(time.Second), side), Remedy: "set the clock by NTP, on the node or here"}
	}
	return check.Result{Status: check.Fail, Evidence: fmt.Sprintf("%v %s of this machine's", skew.Round(time.Second), side), Remedy: "set the clock by NTP, on the node or here"}
}

func (f facts) judgeRoot(s Spec) check.Result {
	root := s.Dirs[0].Path
	switch {
	case slices.Contains(f.links, root):
		return check.Result{Status: check.Fail, Evidence: root + " is a link", Remedy: "mount what it leads to there (mount --bind), or name that in shared_root"}
	case slices.Contains(f.others, root):
		return check.Result{Status: check.Fail, Evidence: root + " is no directory", Remedy: "move it away, or name another shared_root"}
	case f.real == "":
		return check.Result{Status: check.Fail, Evidence: root + " is not there", Remedy: RemedyPrepare}
	}
	for _, p := range append(f.parents, f.dirs...) {
		if p.path != root && strings.HasPrefix(p.path, root) {
			continue // judged with the directories
		}
		if p.known && (p.uid != 0 || p.mode&0o022 != 0 && p.mode&0o1000 == 0) {
			return check.Result{
				Status: check.Warn, Evidence: fmt.Sprintf("%s is owned by user %d with mode %04o: others than root can put another directory in the place of %s", p.path, p.uid, p.mode, root),
				Remedy: "chown root and chmod go-w it, or name another shared_root",
			}
		}
	}
	return pass("%s", root)
}

// RemedyPrepare is the remedy of what Prepare mends; callers put a command in
// its place.
const RemedyPrepare = "make it"

func judgePrefix(s Spec) check.Result {
	root := s.Dirs[0].Path
	for _, prefix := range s.Prefixes {
		if strings.HasPrefix(root+"/", prefix) {
			return pass("%s is under %s", root, prefix)
		}
	}
	allowed := strings.Join(s.Prefixes, ", ")
	return check.Result{
		Status: check.Warn, Evidence: fmt.Sprintf("%s is not under %s, which is what Cube from 0.5.1 on allows to be mounted unless it is told otherwise", root, allowed),
		Remedy: fmt.Sprintf("have CubeMaster's extra_conf.allowed_host_mount_prefixes name %s/, or name a directory under %s in shared_root", root, allowed),
	}
}

func (f facts) judgeDirs(s Spec) check.Result {
	below := func(paths []string) []string {
		return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == s.Dirs[0].Path })
	}
	list := func(paths []string) string { return strings.Join(paths, ", ") }
	switch links, others, absent := below(f.links), below(f.others), below(f.absent); {
	case len(links) > 0:
		return check.Result{Status: check.Fail, Evidence: list(links) + ": a link", Remedy: "see who made it, and remove it; nothing follows it"}
	case len(others) > 0:
		return check.Result{Status: check.Fail, Evidence: list(others) + ": no directory", Remedy: "move it away"}
	case f.real == "":
		return because("root")
	case len(absent) > 0:
		return check.Result{Status: check.Fail, Evidence: list(absent) + ": not there", Remedy: RemedyPrepare}
	}
	for _, d := range f.dirs {
		if d.path != s.Dirs[0].Path && d.known && (d.uid != 0 || d.mode&0o022 != 0) {
			return check.Result{
				Status: check.Fail, Evidence: fmt.Sprintf("%s is owned by user %d with mode %04o: others than root can write to it", d.path, d.uid, d.mode),
				Remedy: "see why, then chown root and chmod go-w it on the node",
			}
		}
	}
	return pass("%d directories", len(f.dirs))
}

// remote are types of file systems on which SQLite's write-ahead log is not
// safe, or not for two hosts (sqlite.org/wal.html): no shared memory, or locks
// that do not hold.
var remote = []string{"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "glusterfs", "lustre", "gfs2", "ocfs2", "afs", "vboxsf", "prl_fs", "beegfs"}

func (f facts) judgeFileSystem() check.Result {
	switch {
	case f.real == "":
		return because("root")
	case f.fs == "":
		return check.Result{Status: check.Warn, Evidence: "the node does not tell the type of its file system", Remedy: "make sure that it is a local one"}
	case slices.Contains(remote, f.fs) || strings.HasPrefix(f.fs, "fuse"):
		return check.Result{Status: check.Warn, Evidence: f.fs + ": homes hold SQLite databases, whose write-ahead log wants a local file system", Remedy: "put the shared root on a local disk; else never let two sandboxes have one home"}
	case f.fs == "tmpfs" || f.fs == "ramfs":
		return check.Result{Status: check.Warn, Evidence: f.fs + ": what is there is lost when the node is started anew", Remedy: "put the shared root on a disk"}
	}
	return pass("%s", f.fs)
}

func (f facts) judgeProbe() check.Result {
	const remedy = "put the shared root on a local disk that is mounted read-write"
	switch {
	case f.unwritable != "":
		return check.Result{Status: check.Fail, Evidence: f.unwritable, Remedy: remedy}
	case len(f.able)+len(f.unable) == 0:
		return because("directories")
	case len(f.unable) > 0:
		return check.Result{Status: check.Fail, Evidence: "do not work: " + strings.Join(f.unable, ", "), Remedy: remedy}
	}
	return pass("work: %s", strings.Join(f.able, ", "))
}

func (f facts) judgeSpace() check.Result {
	if f.real == "" {
		return because("root")
	}
	if f.free < 0 {
		return check.Result{Status: check.Warn, Evidence: "the node does not tell", Remedy: "see what df says there"}
	}
	r := pass("%.1f GiB free", float64(f.free)/(1<<20))
	if f.inodes >= 0 {
		r.Evidence += fmt.Sprintf(", %d inodes", f.inodes)
	}
	few := func(limit int64) bool { return f.inodes >= 0 && f.inodes < limit } // some file systems have no number of them
	switch {
	case f.free < leastFree || few(leastInodes):
		r.Status = check.Fail
	case f.free < fewFree || few(fewInodes):
		r.Status = check.Warn
	default:
		return r
	}
	r.Remedy = "make room on the node's disk"
	return r
}
