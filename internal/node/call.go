package node

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
)

// call is one script on its way to a node.
//
// What starts it must read the same to every login shell, and must not grow:
// so that is one line without quotes, backslashes, exclamation marks and line
// ends, and script and arguments go in front of standard input.
type call struct {
	script         Script
	header         string
	mark           string // random, so that nothing else prints it
	stdout, stderr between
}

func newCall(s Script) (*call, error) {
	if strings.ContainsRune(s.Text, 0) {
		return nil, fmt.Errorf("%w: it holds a NUL byte", ErrNotStarted)
	}
	c := &call{script: s, mark: "hermesbox-" + rand.Text()}
	var b strings.Builder
	b.WriteString("set --")
	for i, arg := range s.Args {
		if strings.ContainsRune(arg, 0) {
			return nil, fmt.Errorf("%w: argument %d holds a NUL byte", ErrNotStarted, i+1)
		}
		b.WriteString(" '" + strings.ReplaceAll(arg, "'", `'\''`) + "'")
	}
	b.WriteString("\n" + s.Text + "\n#" + c.mark)
	c.header = b.String()
	c.stdout = between{to: s.Stdout, begin: c.mark + "-begin\n", end: c.mark + "-end\n"}
	c.stderr = between{to: s.Stderr, begin: c.stdout.begin, end: c.stdout.end}
	return c, nil
}

// starter is the text of a POSIX shell that reads the script and runs it. It
// reads byte by byte, since what follows is the script's own input, and runs
// nothing where the connection was lost on the way. The subshell keeps an exit
// of the script from skipping the end mark.
func (c *call) starter() string {
	return strings.NewReplacer("MARK", c.mark, "COUNT", fmt.Sprint(len(c.header))).Replace(
		`PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH; LC_ALL=C; export PATH LC_ALL; ` +
			`unset ENV BASH_ENV CDPATH; umask 022; cd /; u=$(id -u); ` +
			`[ "$u" = 0 ] || { echo MARK-user "$u"; exit 1; }; ` +
			`s=$(dd ibs=1 obs=65536 count=COUNT 2>/dev/null); ` +
			`case $s in *"#MARK") ;; *) echo the script was cut short >&2; exit 1;; esac; ` +
			`echo MARK-begin; echo MARK-begin >&2; (eval "$s"); c=$?; echo MARK-end; echo MARK-end >&2; exit $c`)
}

// stdin is the script and then its own input.
func (c *call) stdin() io.Reader {
	header := strings.NewReader(c.header)
	if c.script.Stdin == nil {
		return header
	}
	return io.MultiReader(header, c.script.Stdin)
}

// finish is the result of the script, from that of what carried it. become is
// what was to make root.
func (c *call) finish(code int, err error, become string) (int, error) {
	if flushed := c.stdout.flush(); err == nil {
		err = flushed
	}
	if flushed := c.stderr.flush(); err == nil {
		err = flushed
	}
	switch {
	case err != nil:
		return 0, err
	case !c.stdout.begun:
		return 0, c.refused(code, become)
	case code > 128:
		return 0, fmt.Errorf("%w: exit code %d", ErrSignal, code)
	case !c.stdout.ended:
		return 0, fmt.Errorf("%w: exit code %d came early", ErrUnfinished, code)
	}
	return code, nil
}

// refused tells why the script was not started, as far as that was said.
func (c *call) refused(code int, become string) error {
	if _, rest, ok := bytes.Cut(c.stdout.head, []byte(c.mark+"-user ")); ok {
		return fmt.Errorf("%w: user id %s", ErrNotRoot, bytes.TrimSpace(rest))
	}
	said := cmp.Or(lastLine(c.stderr.head), lastLine(c.stdout.head), "it said nothing")
	if become != "" {
		return fmt.Errorf("%w with %q: exit code %d: %s", ErrBecome, become, code, said)
	}
	return fmt.Errorf("%w: exit code %d: %s", ErrNotStarted, code, said)
}

// lastLine is the last line that is not blank, shortened.
func lastLine(text []byte) string {
	line := bytes.TrimSpace(text)
	if i := bytes.LastIndexByte(line, '\n'); i >= 0 {
		line = line[i+1:]
	}
	return strings.ToValidUTF8(string(line[:min(len(line), 300)]), "\uFFFD")
}
