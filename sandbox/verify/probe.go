package verify

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/envd"
)

//go:embed frame.py http.py run.py facts.py agent.py network.py turn.py
var probeFiles embed.FS

// launcher starts a Python that heeds neither the home nor its environment, the
// system's before the agent's. Its first argument is the script.
const launcher = `script=$1 code=127
shift
for python in /usr/bin/python3 /usr/local/bin/python3 /opt/hermes-agent/.venv/bin/python; do
	if [ -x "$python" ]; then
		"$python" -I -S -B -c "$script" "$@" && exit
		code=$?
	fi
done
[ $code != 127 ] || echo 'no Python that runs' >&2
exit $code`

// Bounds of a probe.
const (
	probeBytes = 96 << 20
	saidBytes  = 64 << 10
	probeLimit = 3 * time.Minute
)

// section is a part of what a probe gathered.
type section struct {
	MS    int64           `json:"ms"`
	Data  json.RawMessage `json:"data"`
	Error string          `json:"error"`
}

// facts are the sections by name.
type facts map[string]section

// read reads a section.
func (f facts) read(name string, into any) error {
	s, ok := f[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: it has no %s", answer.Err, name)
	case s.Error != "":
		return fmt.Errorf("gathering %s: %.300s", name, s.Error)
	}
	if err := json.Unmarshal(s.Data, into); err != nil {
		return fmt.Errorf("%w: %s: %w", answer.Err, name, err)
	}
	return nil
}

// A probe is one Python, whose start takes longer than most of what it does:
// what need not be judged before the rest has come shares one.
var (
	factsProbe   = []string{"http.py", "facts.py"}
	agentProbe   = []string{"run.py", "agent.py"}
	networkProbe = []string{"http.py", "network.py"}
	turnProbe    = []string{"run.py", "turn.py"}
)

// probeScript joins the parts of a probe.
func probeScript(parts []string) (string, error) {
	var script strings.Builder
	for _, part := range slices.Concat([]string{"frame.py"}, parts) {
		text, err := probeFiles.ReadFile(part)
		if err != nil {
			return "", err
		}
		script.Write(text)
	}
	script.WriteString("answer()\n")
	return script.String(), nil
}

// gather runs a probe in a sandbox. asked is what it is to know, want the
// sections; none is all.
func gather(ctx context.Context, service *envd.Client, parts []string, asked map[string]any) (facts, error) {
	script, err := probeScript(parts)
	if err != nil {
		return nil, err
	}
	args, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	mark := strings.ToLower(rand.Text())
	out, err := python(ctx, service, script, mark, string(args))
	if err != nil {
		return nil, fmt.Errorf("gathering facts in the sandbox: %w", err)
	}
	body, err := unframe(out, mark)
	if err != nil {
		return nil, err
	}
	var found facts
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, fmt.Errorf("%w: %w", answer.Err, err)
	}
	return found, nil
}

// python runs a script and returns what it printed. It goes along as an argument:
// sent as input it would take three requests.
func python(ctx context.Context, service *envd.Client, script string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	out, said := &answer.Buffer{Left: probeBytes}, &answer.Buffer{Left: saidBytes}
	cmd := envd.Command{
		Path: "/bin/sh", Args: append([]string{"-c", launcher, "sh", script}, args...), Dir: "/", KillOnCancel: true,
		Env: map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
	}
	exit, err := service.Run(ctx, cmd, nil, envd.Output{Stdout: out, Stderr: said})
	switch {
	case err != nil:
		return nil, err
	case !exit.OK():
		return nil, fmt.Errorf("%s: %s", exit, lastLine(said.String()))
	}
	return out.Bytes(), nil
}

// unframe takes the body out of an answer, which must be nothing else.
func unframe(out []byte, mark string) ([]byte, error) {
	first, rest, _ := bytes.Cut(out, []byte("\n"))
	length, ok := strings.CutPrefix(string(first), mark+" ")
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 0 || n > len(rest) {
		return nil, fmt.Errorf("%w: it begins with %.60q", answer.Err, first)
	}
	if string(rest[n:]) != "\n"+mark+" end\n" {
		return nil, fmt.Errorf("%w: it does not end where it should", answer.Err)
	}
	return rest[:n], nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.ToValidUTF8(lines[len(lines)-1], "?")
	return last[:min(len(last), 300)]
}

// later is a value that somebody works on.
type later[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// begin works on a value; wait for it with get.
func begin[T any](work func() (T, error)) *later[T] {
	l := &later[T]{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.value, l.err = work()
	}()
	return l
}

func (l *later[T]) get() (T, error) {
	<-l.done
	return l.value, l.err
}
