package buildctx

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
)

// attributes counts what is not carried by attribute rather than by file: com.apple.provenance is on nearly every file
// since macOS 13, and one warning for each would bury the rest.
type attributes struct {
	mu   sync.Mutex
	seen map[string]attribute
}

type attribute struct {
	first string // the first path that has it, in order
	count int
}

func (a *attributes) add(path, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[string]attribute{}
	}
	at, ok := a.seen[name]
	if !ok || ComparePaths(path, at.first) < 0 {
		at.first = path
	}
	at.count++
	a.seen[name] = at
}

// addTar counts the com.apple.* attributes among a member's PAX records, where one may stand in two forms.
func (a *attributes) addTar(path string, records map[string]string) {
	for key := range records {
		name, ok := attributeName(key)
		if !ok || !strings.HasPrefix(name, applePrefix) {
			continue
		}
		if _, twice := records[paxSchily+name]; twice && strings.HasPrefix(key, paxLibarchive) {
			continue
		}
		a.add(path, name)
	}
}

const (
	applePrefix   = "com.apple."
	paxSchily     = "SCHILY.xattr."
	paxLibarchive = "LIBARCHIVE."
)

// attributeName returns the attribute that a PAX record holds. bsdtar writes SCHILY.xattr with the plain name and
// LIBARCHIVE.xattr with a URL-encoded one.
func attributeName(key string) (string, bool) {
	if name, ok := strings.CutPrefix(key, paxSchily); ok {
		return name, true
	}
	coded, ok := strings.CutPrefix(key, paxLibarchive+"xattr.")
	if !ok {
		return "", false
	}
	name, err := url.PathUnescape(coded)
	if err != nil {
		name = coded
	}
	return name, true
}

// report warns once for each attribute, at the first path that has it.
func (a *attributes) report(rep *report) {
	for name, at := range a.seen {
		detail := fmt.Sprintf("has the attribute %q, which is not carried", name)
		if at.count > 1 {
			detail = fmt.Sprintf("and %d more have the attribute %q, which is not carried", at.count-1, name)
		}
		rep.warn(Warning{Kind: WarnXattr, Path: at.first, Detail: detail})
	}
}
