package buildctx

import (
	"sync"

	"golang.org/x/sys/unix"
)

// hardLinks spares reading a file again under its other names. A name is told by device and inode together: inode
// numbers alone repeat across mounts.
type hardLinks struct {
	mu   sync.Mutex
	seen map[inode]linked
}

type inode struct{ dev, ino uint64 }

type linked struct {
	stat unix.Stat_t
	node *node
}

// known copies the hash of another name of the same file, unless the file was written to since.
func (l *hardLinks) known(st *unix.Stat_t, n *node) bool {
	if st.Nlink < 2 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	other, ok := l.seen[inodeOf(st)]
	if !ok || !sameContent(&other.stat, st) || other.stat.Ctim != st.Ctim {
		return false
	}
	n.sum = other.node.sum
	return true
}

func (l *hardLinks) add(st *unix.Stat_t, n *node) {
	if st.Nlink < 2 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[inode]linked{}
	}
	l.seen[inodeOf(st)] = linked{*st, n}
}
