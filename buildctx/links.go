package buildctx

import (
	"path"
	"strconv"
	"strings"
)

// maxLinks is how many links a path may lead through, as in Linux.
const maxLinks = 40

// checkLinks warns of links that lead out of the tree or nowhere in it.
func (w *walker) checkLinks() {
	w.nodes.each(func(n *node, p []byte) bool {
		if n.kind != Link {
			return true
		}
		target := string(w.nodes.target(n))
		_, kind := w.nodes.resolve(path.Dir(string(p)), target)
		switch kind {
		case WarnOutside:
			w.report.warn(Warning{Kind: kind, Path: string(p), Detail: "leads out of the tree, to " + strconv.Quote(target)})
		case WarnDangling:
			w.report.warn(Warning{Kind: kind, Path: string(p), Detail: "leads to " + strconv.Quote(target) + ", which is not in the tree"})
		}
		return true
	})
}

// resolve follows a target from a directory of the tree, through links of the tree, and returns the path it ends at, or
// the kind of warning that says why it does not.
func (s *store) resolve(dir, target string) (string, string) {
	at := dir
	rest := strings.Split(target, "/")
	if path.IsAbs(target) {
		return "", WarnOutside
	}
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", WarnOutside
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		i := s.find(next)
		if i < 0 {
			return "", WarnDangling
		}
		switch n := s.at(i); {
		case n.kind == Link:
			to := string(s.target(n))
			if links++; links > maxLinks {
				return "", WarnDangling
			}
			if path.IsAbs(to) {
				return "", WarnOutside
			}
			rest = append(strings.Split(to, "/"), rest...)
		case n.kind == File && len(rest) > 0:
			return "", WarnDangling
		default:
			at = next
		}
	}
	return at, ""
}
