package image

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/inside"
)

// The agent's environment in a test: a home of the test's own, so that nothing
// of the image's default home changes.
const turnHome = "/tmp/hermesbox-image-test"

var agentEnv = []string{
	"HOME=/root", "HERMES_HOME=" + turnHome, "HERMES_DISABLE_LAZY_INSTALLS=1", "COLUMNS=200", "NO_COLOR=1", "PYTHONDONTWRITEBYTECODE=1",
}

// inStill runs a command where nothing of the image's own runs.
func (t *trial) inStill(ctx context.Context, cmd command) (result, error) {
	if t.stillErr != nil {
		return result{}, t.stillErr
	}
	cmd.env = agentEnv
	return t.still.exec(ctx, cmd)
}

func (t *trial) agentImport(ctx context.Context) check.Result {
	script := "import model_tools; print('tools', len(model_tools.get_tool_definitions(quiet_mode=True)))"
	res, err := t.inStill(ctx, command{args: []string{venvPython, "-c", script}, limit: longLimit})
	if err != nil {
		return failing(rebuild, "%v", err)
	}
	var tools int
	_, scanErr := fmt.Sscanf(lastLine(res.stdout), "tools %d", &tools)
	if res.code != 0 || scanErr != nil {
		return failing("the last line names the cause; a UnicodeDecodeError is an AppleDouble file in tools/",
			"import model_tools: exit code %d: %s", res.code, oneLine(res.stderr, nil))
	}
	return passed("import model_tools works, %d tools", tools)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func (t *trial) agentVersion(ctx context.Context) check.Result {
	want := t.files.sourceVersion()
	if want == "" {
		return failing(rebuild, "%s/pyproject.toml names no version", agentDir)
	}
	res, err := t.inStill(ctx, command{args: []string{venvHermes, "--version"}, limit: longLimit})
	if err != nil {
		return failing(rebuild, "%v", err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(res.stdout), "\n")
	if res.code != 0 || !strings.Contains(first+" ", " v"+want+" ") {
		return failing(rebuild, "hermes --version: exit code %d: %s %s; the source is %s", res.code, first, oneLine(res.stderr, nil), want)
	}
	return passed("%s", first)
}

// agentTurn lets the agent ask a model of the test's own, inside the container.
func (t *trial) agentTurn(ctx context.Context) check.Result {
	res, err := t.inStill(ctx, command{args: []string{venvPython, "-", venvHermes, turnHome}, stdin: inside.AgentTurn, limit: longLimit})
	if err != nil {
		return failing(rebuild, "%v", err)
	}
	var turn struct {
		Code   int    `json:"code"`
		Answer bool   `json:"answer"`
		Turns  int    `json:"turns"`
		Output string `json:"output"`
	}
	if err := json.Unmarshal([]byte(lastLine(res.stdout)), &turn); err != nil {
		return failing(rebuild, "the turn ended with exit code %d: %s", res.code, oneLine(res.stderr, err))
	}
	if turn.Code != 0 || !turn.Answer || turn.Turns < 1 {
		return failing("run hermes chat -Q -q ping in the image against an endpoint of yours",
			"hermes chat: exit code %d, %d request(s) at the model, the model's answer shown: %v: %s", turn.Code, turn.Turns, turn.Answer, oneLine(turn.Output, nil))
	}
	return passed("hermes chat answered with what the stub model said, after %d request(s)", turn.Turns)
}
