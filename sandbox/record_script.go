package sandbox

import "strings"

// readRecordsScript answers with each record, as look.sh does. $1 is the
// directory; links are passed over.
const readRecordsScript = `
set -eu
if [ -d "$1" ] && [ ! -L "$1" ]; then
	find "$1" -maxdepth 1 -type f -name '*.json' -size -33 -exec sh -c '
		for file; do
			printf "record\\0%s\n" "${file##*/}"
			tr -d "\\000" <"$file" || true
			printf "\\0"
		done' sh {} +
fi
printf 'end\0\0'
`

// writeRecordScript takes the record on standard input and puts it in place in
// one step: $1 is the directory, $2 the file's name.
const writeRecordScript = `
set -eu
umask 077
mkdir -p "$1"
if [ -L "$1" ]; then
	echo "$1 is a link" >&2
	exit 1
fi
cd "$1"
cat >".$2.$$"
mv -f ".$2.$$" "$2"
`

// removeRecordScript forgets a sandbox.
const removeRecordScript = `
set -eu
[ -d "$1" ] && [ ! -L "$1" ] || exit 0
cd "$1"
rm -f "./$2"
`

// parseRecords reads what a node has. What is no record is left out, with a
// warning.
func (c *Client) parseRecords(texts map[string][]byte) map[string]Record {
	all := map[string]Record{}
	for file, text := range texts {
		r, err := ParseRecord(file, text)
		if err != nil {
			c.warn("a record is left out: %v", err)
			continue
		}
		all[r.ID] = r
	}
	return all
}

// firstLine is the first line of what a program said.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
