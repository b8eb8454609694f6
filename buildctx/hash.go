package buildctx

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io/fs"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	readBuffer = 256 << 10
	// hashBatch is how many files of a directory go to a worker at once: enough to make handing over cheap, few enough
	// to keep all workers busy.
	hashBatch = 32
	// jobsPerProc bounds the queue, and with it how many directories are open at once.
	jobsPerProc = 16
	// shareSize is the size from which one file is work enough for a worker.
	shareSize = 4 << 20
	// sparseLimit is the size from which holes are worth a warning.
	sparseLimit = 64 << 20
)

const (
	detailAppleDouble = "is an AppleDouble file by its content, though not by its name; carried"
	detailSparse      = "is sparse; its holes are carried as zeros"
)

// hashJob is some files of one directory.
type hashJob struct {
	dir   *diskDir
	files []hashFile
}

type hashFile struct {
	name string
	node *node
	item *streamItem // where the file is also written, else nil
}

// hashers reads and hashes files beside the walk, and in it: where the queue is full the walk does a job itself, which
// costs less than to sleep until there is room.
type hashers struct {
	jobs     chan hashJob
	pending  sync.WaitGroup // jobs that are queued or being done
	workers  sync.WaitGroup
	walks    *hasher // that of the walk
	links    hardLinks
	attrs    attributes
	problems *problems

	mu       sync.Mutex
	warnings []Warning
}

func startHashers(ctx context.Context, p *problems) *hashers {
	procs := runtime.GOMAXPROCS(0)
	h := &hashers{jobs: make(chan hashJob, jobsPerProc*procs), problems: p}
	h.walks = newHasher(h)
	for range max(1, procs-1) {
		h.workers.Go(func() {
			w := newHasher(h)
			for j := range h.jobs {
				w.job(ctx, j)
			}
		})
	}
	return h
}

// do has a job done, now or later. Only the walk calls it.
func (h *hashers) do(ctx context.Context, j hashJob) {
	if !h.offer(j) {
		h.pending.Add(1)
		h.walks.job(ctx, j)
	}
}

// offer queues a job if there is room.
func (h *hashers) offer(j hashJob) bool {
	h.pending.Add(1)
	select {
	case h.jobs <- j:
		return true
	default:
		h.pending.Done()
		return false
	}
}

// wait ends the workers when all jobs are done.
func (h *hashers) wait() {
	h.pending.Wait()
	close(h.jobs)
	h.workers.Wait()
}

func (h *hashers) warn(kind, path, detail string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warnings = append(h.warnings, Warning{Kind: kind, Path: path, Detail: detail})
}

// hasher is one worker.
type hasher struct {
	pool *hashers
	sum  hash.Hash
	buf  []byte
	rest *hashJob // what is left of the job at hand
}

func newHasher(pool *hashers) *hasher {
	return &hasher{pool: pool, sum: sha256.New(), buf: make([]byte, readBuffer)}
}

func (h *hasher) job(ctx context.Context, j hashJob) {
	defer h.pool.pending.Done()
	defer j.dir.release()
	h.rest = &j
	for len(j.files) > 0 {
		f := j.files[0]
		j.files = j.files[1:]
		err := ctx.Err()
		if err == nil {
			err = h.twice(ctx, j.dir, f)
		}
		if f.item != nil {
			f.item.failed = err != nil
			close(f.item.ready)
		}
	}
}

// share lets another worker have the rest of the job while this one is at a large file.
func (h *hasher) share(size int64) {
	if size < shareSize || len(h.rest.files) == 0 {
		return
	}
	h.rest.dir.users.Add(1)
	if h.pool.offer(*h.rest) {
		h.rest.files = nil
		return
	}
	h.rest.dir.users.Add(-1) // this job is a user still
}

// twice gives a file that changes a second chance before it is a problem.
func (h *hasher) twice(ctx context.Context, dir *diskDir, f hashFile) error {
	path := func() string { return dir.prefix + f.name }
	err := h.file(ctx, dir.fd(), f, path)
	var changed *ChangedError
	if errors.As(err, &changed) {
		err = h.file(ctx, dir.fd(), f, path)
	}
	if err != nil && ctx.Err() == nil {
		h.pool.problems.add(path(), err)
	}
	return err
}

// file reads one file exactly as long as it is, and fills in its node. The path is made only when it is needed.
func (h *hasher) file(ctx context.Context, dir int, f hashFile, path func() string) error {
	fd, err := openat(dir, f.name, openFile)
	if err != nil {
		return openError(path(), err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var before, after unix.Stat_t
	if err := fstat(fd, &before); err != nil {
		return &PathError{Path: path(), Reason: Unreadable, Detail: "cannot be examined", Err: err}
	}
	if !isRegular(&before) {
		return &ChangedError{Path: path(), What: "is no longer a file"}
	}
	f.node.size, f.node.exec = before.Size, before.Mode&0o100 != 0
	h.share(before.Size)
	if f.item == nil && h.pool.links.known(&before, f.node) {
		h.odd(fd, &before, path)
		return nil
	}
	if err := h.read(ctx, fd, f, path); err != nil {
		return err
	}
	if err := fstat(fd, &after); err != nil {
		return &PathError{Path: path(), Reason: Unreadable, Detail: "cannot be examined", Err: err}
	}
	if !sameContent(&before, &after) {
		return &ChangedError{Path: path(), What: "was written to while it was read"}
	}
	h.pool.links.add(&before, f.node)
	h.odd(fd, &before, path)
	return nil
}

// read hashes a file, and keeps its content where it is to be written and small.
func (h *hasher) read(ctx context.Context, fd int, f hashFile, path func() string) error {
	if f.item != nil && f.node.size <= streamSmall {
		return h.take(fd, f.item, f.node.size, path)
	}
	if err := h.content(ctx, fd, f.node.size, path); err != nil {
		return err
	}
	h.sum.Sum(f.node.sum[:0])
	return nil
}

// content hashes size bytes and expects the end of the file there.
func (h *hasher) content(ctx context.Context, fd int, size int64, path func() string) error {
	h.sum.Reset()
	for total := int64(0); ; {
		n, err := read(fd, h.buf)
		if err != nil {
			return &PathError{Path: path(), Reason: Unreadable, Detail: "cannot be read", Err: err}
		}
		h.sniff(h.buf[:n], total, path)
		h.sum.Write(h.buf[:n])
		total += int64(n)
		// A regular file gives less than was asked for at its end only, so this needs no further read to say so.
		if atEnd := n == 0 || total == size && n < len(h.buf); atEnd || total > size {
			return sizeError(total, size, path)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// sniff warns of litter that has another name, where the first bytes pass by anyway.
func (h *hasher) sniff(head []byte, at int64, path func() string) {
	if at == 0 && hasAppleHeader(head) {
		h.pool.warn(WarnAppleDouble, path(), detailAppleDouble)
	}
}

// odd warns of what is not carried of a file.
func (h *hasher) odd(fd int, st *unix.Stat_t, path func() string) {
	if detail := clearedBits(modeOf(st)); detail != "" {
		h.pool.warn(WarnMode, path(), detail)
	}
	if st.Size >= sparseLimit && st.Blocks*512 < st.Size {
		h.pool.warn(WarnSparse, path(), detailSparse)
	}
	for _, name := range appleAttributes(fd) {
		h.pool.attrs.add(path(), name)
	}
}

// clearedBits names the mode bits that are not carried, empty where there are none.
func clearedBits(mode uint32) string {
	switch {
	case mode&unix.S_ISUID != 0:
		return "has the setuid bit, which is cleared"
	case mode&unix.S_ISGID != 0:
		return "has the setgid bit, which is cleared"
	case mode&unix.S_ISVTX != 0:
		return "has the sticky bit, which is cleared"
	}
	return ""
}

// openError tells what a failed open of something that the listing called a file, or a directory, means.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &ChangedError{Path: path, What: "vanished while the context was read", Err: err}
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENXIO):
		return &ChangedError{Path: path, What: "became something else while the context was read", Err: err}
	}
	return &PathError{Path: path, Reason: Unreadable, Detail: "cannot be read", Err: err}
}
