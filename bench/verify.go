package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/inside"
)

// mostBeyond is how many seconds a verification may take beyond what the programs take that it runs.
const mostBeyond = 5.0

// programsScript is what a verification runs inside that takes time of its own: Hermes's programs, a turn of the agent
// against a stub model on standard input, and the Web UI's two pages. It prints the seconds of each.
const programsScript = `cat >/tmp/turn.py
timed() { began=$(date +%s%N); name=$1; shift; "$@" >/dev/null 2>&1 || { echo "$name: exit code $?" >&2; exit 1; }; echo "$name $(( ($(date +%s%N) - began) / 1000000 ))"; }
agent=/opt/hermes-agent/.venv/bin
export HOME=/root HERMES_HOME=/root/.hermes HERMES_DISABLE_LAZY_INSTALLS=1 PYTHONDONTWRITEBYTECODE=1
timed import "$agent/python" -I -c "import model_tools; print('tools', len(model_tools.get_tool_definitions(quiet_mode=True)))"
timed version "$agent/hermes" --version
timed skills "$agent/hermes" skills list
rm -rf /tmp/turn
timed turn env HOME=/tmp/turn HERMES_HOME=/tmp/turn/home python3 /tmp/turn.py "$agent/hermes" /tmp/turn/home
timed page curl -sf http://127.0.0.1:9000/
timed health curl -sf http://127.0.0.1:9000/health`

// start has the Web UI start, and waits until it says that it is well.
const start = `began=$(date +%s%N)
setsid /usr/local/bin/hermes-studio </dev/null >/dev/null 2>&1 &
until curl -sf http://127.0.0.1:9000/health | grep -q '"status":"ok"'; do sleep 0.05; done
echo "start $(( ($(date +%s%N) - began) / 1000000 ))"`

// verifyBench measures two verifications of an image that is on the Engine: of a sandbox, against what the programs take
// that it runs there, one after the other; and of the template, which also makes three sandboxes, against the same and
// two starts of the Web UI.
func verifyBench(ctx context.Context, out io.Writer, o options) (met bool, err error) {
	if o.image == "" {
		fmt.Fprintln(out, "verify not measured: -image names none")
		return true, nil
	}
	w, err := openWorld(ctx, o.hermesbox)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	for _, args := range []string{"template create --image " + o.image, "sandbox create --home bench --workspace bench", "sandbox create --home bare --workspace bare --no-web-ui"} {
		if _, err := w.run(ctx, args); err != nil {
			return false, err
		}
	}
	started, said, err := w.inside(ctx, "bare", start)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "verify the Web UI: %s ms\n", said)
	var sandbox, template, programs, more []sample
	for i := range o.runs + 1 {
		one, err := w.run(ctx, "verify bench")
		if err != nil {
			return false, err
		}
		whole, err := w.run(ctx, "verify")
		if err != nil {
			return false, err
		}
		sum, said, err := w.inside(ctx, "bench", programsScript)
		if err != nil {
			return false, err
		}
		if i > 0 { // the first only warms up
			sandbox, template = append(sandbox, one), append(template, whole)
			programs, more = append(programs, sample{wall: sum}), append(more, sample{wall: sum + 2*started})
			fmt.Fprintf(out, "verify the programs: %s ms\n", said)
		}
	}
	named := shape{name: "verify"}
	met, err = printTarget(out, named, contest{name: "a sandbox, beyond its programs"}, target{"s", secondsAbove, mostBeyond}, medians(sandbox), medians(programs))
	if err != nil {
		return false, err
	}
	also, err := printTarget(out, named, contest{name: "a template, beyond its programs"}, target{"s", secondsAbove, 0}, medians(template), medians(more))
	return met && also, err
}

// run runs hermesbox on the world's local Cube.
func (w *world) run(ctx context.Context, args string) (sample, error) {
	return measure(ctx, w.dir, fmt.Sprintf("XDG_STATE_HOME=%s %s --cube local %s >/dev/null", w.dir, w.program, args))
}

// inside runs a script in a sandbox and adds up the lines "NAME MILLISECONDS" that it prints.
func (w *world) inside(ctx context.Context, sandbox, script string) (sum time.Duration, said string, err error) {
	cmd := exec.CommandContext(ctx, w.program, "--cube", "local", "sandbox", "exec", sandbox, "--", "sh", "-c", script)
	cmd.Env = append(cmd.Environ(), "XDG_STATE_HOME="+w.dir)
	cmd.Stdin = strings.NewReader(inside.AgentTurn)
	text, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return 0, "", fmt.Errorf("running programs in sandbox %s: %w", sandbox, err)
	}
	for line := range strings.Lines(string(text)) {
		var name string
		var took int64
		if _, err := fmt.Sscan(line, &name, &took); err != nil {
			return 0, "", fmt.Errorf("reading what programs took: %w: %q", err, line)
		}
		sum += time.Duration(took) * time.Millisecond
	}
	return sum, strings.Join(strings.Fields(string(text)), " "), nil
}
