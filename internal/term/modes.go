package term

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The modes that a terminal begins with; the others that programs set are off.
var initially = []int{7, 25} // wrapping, and a cursor that is seen

// longest is the longest sequence that is looked at.
const longest = 64

// modes follows what programs switch on a terminal: ESC [ ? numbers h or l.
type modes struct {
	mu      sync.Mutex
	changed []int  // away from what they were at first, in that order
	pending []byte // the beginning of a sequence
	used    bool
}

// watch reads what is shown.
func (m *modes) watch(p []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range p {
		switch {
		case b == '\x1b':
			m.used = true
			m.pending = append(m.pending[:0], b)
		case len(m.pending) == 0:
		case m.goesOn(b):
			m.pending = append(m.pending, b)
		default:
			m.ended(b)
			m.pending = m.pending[:0]
		}
	}
}

// goesOn tells whether b belongs inside the sequence that has begun.
func (m *modes) goesOn(b byte) bool {
	switch n := len(m.pending); n {
	case 1:
		return b == '['
	case 2:
		return b == '?'
	default:
		return n < longest && (b >= '0' && b <= '9' || b == ';')
	}
}

// ended takes the last byte of a sequence.
func (m *modes) ended(last byte) {
	if len(m.pending) < 3 || last != 'h' && last != 'l' {
		return
	}
	for text := range strings.SplitSeq(string(m.pending[3:]), ";") {
		mode, err := strconv.Atoi(text)
		if err != nil {
			continue
		}
		m.changed = slices.DeleteFunc(m.changed, func(other int) bool { return other == mode })
		if (last == 'h') != slices.Contains(initially, mode) && len(m.changed) < longest {
			m.changed = append(m.changed, mode)
		}
	}
}

// undo is what puts everything back, the last change first. It is empty where
// nothing but plain text was shown.
func (m *modes) undo() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out strings.Builder
	for _, mode := range slices.Backward(m.changed) {
		to := 'l'
		if slices.Contains(initially, mode) {
			to = 'h'
		}
		fmt.Fprintf(&out, "\x1b[?%d%c", mode, to)
	}
	m.changed = nil
	if m.used {
		out.WriteString("\x1b>\x1b[0m") // keypad and colours
	}
	return out.String()
}
