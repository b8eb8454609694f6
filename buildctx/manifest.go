package buildctx

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
)

// WriteManifest writes a line for every file in the format of GNU sha256sum, which sha256sum -c checks: where a name
// holds a backslash, a line feed or a carriage return, these are escaped and the line begins with a backslash.
func (t *Tree) WriteManifest(w io.Writer) error {
	out := bufio.NewWriter(w)
	var line []byte
	t.nodes.each(func(n *node, path []byte) bool {
		if n.kind != File {
			return true
		}
		line = appendManifestLine(line[:0], n, path)
		_, err := out.Write(line)
		return err == nil
	})
	return out.Flush() // which repeats the error of a failed Write
}

func appendManifestLine(line []byte, n *node, path []byte) []byte {
	if !bytes.ContainsAny(path, "\\\n\r") {
		line = append(hex.AppendEncode(line, n.sum[:]), "  "...)
		return append(append(line, path...), '\n')
	}
	line = append(hex.AppendEncode(append(line, '\\'), n.sum[:]), "  "...)
	for _, b := range path {
		switch b {
		case '\\':
			line = append(line, `\\`...)
		case '\n':
			line = append(line, `\n`...)
		case '\r':
			line = append(line, `\r`...)
		default:
			line = append(line, b)
		}
	}
	return append(line, '\n')
}
