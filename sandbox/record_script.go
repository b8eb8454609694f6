package sandbox

import (
	"bytes"
	"strconv"
	"strings"
)

// readRecordsScript prints each record as "SIZE NAME\n" and the bytes. Links
// and odd names are passed over, so that no sandbox can forge one.
const readRecordsScript = `
set -eu
[ -d "$1" ] && [ ! -L "$1" ] || exit 0
cd "$1"
number=0
for file in *.json; do
	[ -f "$file" ] && [ ! -L "$file" ] || continue
	case $file in *[!A-Za-z0-9._-]*) continue ;; esac
	number=$((number + 1))
	[ "$number" -le 10000 ] || break
	size=$(wc -c <"$file")
	[ "$size" -le 16384 ] || continue
	text=$(cat <"$file"; echo .)
	text=${text%.}
	printf '%s %s\n%s' "${#text}" "$file" "$text"
done
`

// writeRecordScript takes the record on standard input and puts it in place in
// one step: $1 is the directory, $2 the file's name. What follows are nonce
// files to remove, by directory and name.
const writeRecordScript = `
set -eu
umask 077
mkdir -p "$1"
[ ! -L "$1" ]
cd "$1"
if [ -n "$2" ]; then
	cat >".$2.$$"
	mv -f ".$2.$$" "$2"
fi
`

// removeRecordScript forgets a sandbox.
const removeRecordScript = `
set -eu
[ -d "$1" ] && [ ! -L "$1" ] || exit 0
cd "$1"
rm -f "./$2"
`

// parseRecords takes readRecordsScript's output apart; what is no record is
// left out, with a warning.
func (c *Client) parseRecords(out []byte) []Record {
	var all []Record
	for len(out) > 0 {
		head, rest, ok := bytes.Cut(out, []byte("\n"))
		size, file, _ := strings.Cut(string(head), " ")
		n, err := strconv.Atoi(size)
		if !ok || err != nil || n < 0 || n > len(rest) {
			c.warn("the records on a node could not be read to their end")
			return all
		}
		r, err := ParseRecord(file, rest[:n])
		if err != nil {
			c.warn("a record is left out: %v", err)
		} else {
			all = append(all, r)
		}
		out = rest[n:]
	}
	return all
}

// firstLine is the first line of what a program said.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
