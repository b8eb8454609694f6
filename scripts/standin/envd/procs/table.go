package procs

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// table knows the living processes, and for a while those that ended.
type table struct {
	retention time.Duration // how long Connect still finds an ended one; 0: not at all

	mu     sync.Mutex
	serial uint64
	live   map[uint32]*running
	ended  map[uint32]*ended
}

// ended is what remains of a process.
type ended struct {
	pid uint32
	tag *string
	end *process.ProcessEvent
}

func newTable(retention time.Duration) *table {
	return &table{retention: retention, live: map[uint32]*running{}, ended: map[uint32]*ended{}}
}

func (t *table) add(r *running) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serial++
	r.serial = t.serial
	t.live[r.pid()] = r
}

// retire moves a process to the ended ones, from where it vanishes by itself.
func (t *table) retire(r *running, end *process.ProcessEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(r.forgotten)
	pid := r.pid()
	if t.live[pid] == r { // the kernel may have given the number away again
		delete(t.live, pid)
	}
	if t.retention <= 0 {
		return
	}
	e := &ended{pid, r.tag, end}
	t.ended[pid] = e
	time.AfterFunc(t.retention, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.ended[pid] == e {
			delete(t.ended, pid)
		}
	})
}

// all lists the living, oldest first.
func (t *table) all() []*running {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*running, 0, len(t.live))
	for _, r := range t.live {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *running) int { return cmp.Compare(a.serial, b.serial) })
	return list
}

func (t *table) byPID(pid uint32) *running {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live[pid]
}

// byTag looks at the oldest tagged process only. The real service looks at one tagged process too, a
// random one; with an order, a client that relies on several tags fails every time, not now and then.
func (t *table) byTag(tag string) *running {
	for _, r := range t.all() {
		if r.tag == nil {
			continue
		}
		if *r.tag == tag {
			return r
		}
		return nil
	}
	return nil
}

// endedBy finds an ended process; of several with one tag, any.
func (t *table) endedBy(match func(*ended) bool) *ended {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.ended {
		if match(e) {
			return e
		}
	}
	return nil
}
