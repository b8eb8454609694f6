package buildctx

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// disk is a source directory: what its open directories share.
type disk struct {
	do   func(hashJob) // has files hashed
	sink *sink         // nil where no tar is written on the way

	mu      sync.Mutex
	changed []changedDir
}

// changedDir is a directory whose names were others after its files were hashed than before.
type changedDir struct {
	prefix string
	names  []string // that appeared or vanished
}

// diskDir is an open directory. Its files are hashed while the walk goes on, so it is closed by whoever is last.
type diskDir struct {
	disk   *disk
	f      *os.File
	prefix string
	users  atomic.Int32
	before unix.Stat_t
	names  []string
	batch  []hashFile
}

func (d *disk) open(parent int, name, prefix string) (*diskDir, error) {
	fd, err := openat(parent, name, openDir)
	if err != nil {
		return nil, openError(strings.TrimSuffix(prefix, "/"), err)
	}
	dir := &diskDir{disk: d, f: os.NewFile(uintptr(fd), prefix), prefix: prefix}
	dir.users.Store(1)
	if err := fstat(fd, &dir.before); err != nil {
		dir.release()
		return nil, openError(strings.TrimSuffix(prefix, "/"), err)
	}
	return dir, nil
}

func (d *diskDir) fd() int { return int(d.f.Fd()) }

func (d *diskDir) list() ([]child, error) {
	entries, err := d.f.ReadDir(-1)
	if err != nil {
		return nil, &PathError{Path: strings.TrimSuffix(d.prefix, "/"), Reason: Unreadable, Detail: "cannot be listed", Err: err}
	}
	children := make([]child, len(entries))
	for i, e := range entries {
		children[i] = child{e.Name(), kindOf(e.Type())}
	}
	slices.SortFunc(children, func(a, b child) int { return cmp.Compare(a.name, b.name) })
	d.names = make([]string, len(children))
	for i, c := range children {
		d.names[i] = c.name
	}
	return children, nil
}

func (d *diskDir) find(name string) (child, error) {
	var st unix.Stat_t
	if err := lstatat(d.fd(), name, &st); err != nil {
		return child{}, err
	}
	return child{name, kindOfStat(modeOf(&st))}, nil
}

func kindOfStat(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFLNK:
		return Link
	case unix.S_IFSOCK:
		return socket
	case unix.S_IFIFO:
		return fifo
	}
	return device
}

func kindOf(mode fs.FileMode) Kind {
	switch {
	case mode.IsRegular():
		return File
	case mode.IsDir():
		return Dir
	case mode&fs.ModeSymlink != 0:
		return Link
	case mode&fs.ModeSocket != 0:
		return socket
	case mode&fs.ModeNamedPipe != 0:
		return fifo
	}
	return device
}

func (d *diskDir) enter(c child) (directory, error) {
	d.flush() // else a writer that waits for these files would wait for the subtree
	return d.disk.open(d.fd(), c.name, d.prefix+c.name+"/")
}

func (d *diskDir) target(c child) (string, error) {
	target, err := readlinkat(d.fd(), c.name)
	if err != nil {
		return "", openError(d.prefix+c.name, err)
	}
	return target, nil
}

func (d *diskDir) size(c child) int64 {
	var st unix.Stat_t
	if c.kind != File || lstatat(d.fd(), c.name, &st) != nil {
		return 0
	}
	return st.Size
}

func (d *diskDir) sniff(c child) (bool, error) {
	fd, err := openat(d.fd(), c.name, openFile)
	if err != nil {
		return false, err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var buf [appleSniff]byte
	n, err := read(fd, buf[:])
	return err == nil && isAppleDouble(buf[:n]), err
}

// oneOf says that a file is one of these. Its directory's device would not do to spare the look: on an overlay it differs.
func (d *diskDir) oneOf(c child, some []inode) bool {
	var st unix.Stat_t
	return c.kind == File && lstatat(d.fd(), c.name, &st) == nil && slices.Contains(some, inodeOf(&st))
}

// file has the file hashed with others of its directory.
func (d *diskDir) file(c child, n *node) {
	f := hashFile{name: c.name, node: n}
	if d.disk.sink != nil {
		f.item = d.disk.sink.file(d.prefix+c.name, n)
	}
	d.batch = append(d.batch, f)
	if len(d.batch) == hashBatch {
		d.flush()
	}
}

func (d *diskDir) flush() {
	if len(d.batch) == 0 {
		return
	}
	d.users.Add(1)
	d.disk.do(hashJob{d, d.batch})
	d.batch = nil
}

func (d *diskDir) odd(rep *report) {
	if detail := clearedBits(modeOf(&d.before)); detail != "" {
		rep.warn(Warning{Kind: WarnMode, Path: strings.TrimSuffix(d.prefix, "/"), Detail: detail})
	}
}

func (d *diskDir) close() {
	d.flush()
	d.release()
}

// release closes the directory when its last user is done, after a last look at its names.
func (d *diskDir) release() {
	if d.users.Add(-1) > 0 {
		return
	}
	if names := d.changes(); len(names) > 0 {
		d.disk.mu.Lock()
		d.disk.changed = append(d.disk.changed, changedDir{d.prefix, names})
		d.disk.mu.Unlock()
	}
	_ = d.f.Close() // nothing was written
}

// racy is how far the clock of a file system may lag: a directory changed this recently may change again and keep its time.
const racy = 20 * time.Millisecond

// changes returns the names that appeared or vanished since the directory was listed.
func (d *diskDir) changes() []string {
	var after unix.Stat_t
	if d.names == nil || fstat(d.fd(), &after) != nil {
		return nil
	}
	if after.Mtim == d.before.Mtim && time.Since(time.Unix(after.Mtim.Unix())) > racy {
		return nil
	}
	if _, err := d.f.Seek(0, 0); err != nil {
		return nil
	}
	now, err := d.f.Readdirnames(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	slices.Sort(now)
	return differences(d.names, now)
}

// differences returns what is in one of two sorted lists only.
func differences(a, b []string) []string {
	var only []string
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			only, a = append(only, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			only, b = append(only, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return only
}
