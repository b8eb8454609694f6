package verify

import (
	"context"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/inside"
	"github.com/hermesbox/hermesbox/sandbox"
)

// ran is what a program inside did.
type ran struct {
	Code int    `json:"code"`
	Out  string `json:"out"`
	Err  string `json:"err"`
}

var toolsLine = regexp.MustCompile(`(?m)^tools (\d+)$`)

func (s *subject) agentImport(context.Context) check.Result {
	var got ran
	if err := s.read("agent", "imports", &got); err != nil {
		return unknown(err)
	}
	tools := toolsLine.FindStringSubmatch(got.Out)
	if got.Code != 0 || tools == nil {
		return failing("the last line names the cause; a UnicodeDecodeError or a null byte is an AppleDouble file in tools/; "+newImage,
			"import model_tools: exit code %d: %s", got.Code, oneLine(got.Err))
	}
	return passed("import model_tools works, %s tools", tools[1])
}

func (s *subject) agentVersion(context.Context) check.Result {
	var want string
	var got ran
	if err := s.read("facts", "version", &want); err != nil {
		return unknown(err)
	}
	if err := s.read("agent", "version", &got); err != nil {
		return unknown(err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(got.Out), "\n")
	switch {
	case want == "":
		return failing(newImage, "%s/pyproject.toml names no version", agentDir)
	case got.Code != 0 || !strings.Contains(first+" ", " v"+want+" "):
		return failing(newImage, "hermes --version: exit code %d: %.100q %s; the source is %.40q", got.Code, first, oneLine(got.Err), want)
	}
	return passed("%.100q, as the source", first)
}

// turned is how a turn of the agent ended.
type turned struct {
	Code   int    `json:"code"`
	Answer bool   `json:"answer"`
	Turns  int    `json:"turns"`
	Output string `json:"output"`
}

// askTurn asks the agent to answer once, on a home of the check's own: with the
// settings of the sandbox's home where those name a model that it is to reach,
// else against a stub model on the sandbox's loopback.
func (s *subject) askTurn(ctx context.Context, asked map[string]any) {
	s.ownModel = len(s.options.Endpoints) > 0 && s.model(ctx) != ""
	if s.ownModel {
		asked["configured"] = true
	} else {
		asked["script"] = inside.AgentTurn
	}
}

// model is the address of the model in the home's settings; empty for none.
func (s *subject) model(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	text, err := s.service.ReadFile(ctx, sandbox.HomeMount+"/config.yaml", 1<<20)
	var settings struct {
		Model struct {
			BaseURL string `yaml:"base_url"`
		} `yaml:"model"`
	}
	if err != nil || yaml.Unmarshal(text, &settings) != nil {
		return "" // the seeded check tells of it
	}
	return settings.Model.BaseURL
}

// readLimit is how long reading a file may take, which a named pipe in its place
// would never end.
const readLimit = 10 * time.Second

func (s *subject) agentTurn(context.Context) check.Result {
	const remedy = "run hermes chat -Q -q ping in the sandbox and read what it says"
	var got turned
	if err := s.read("network", "turn", &got); err != nil {
		return failing(remedy, "taking a turn: %v", err)
	}
	name := "the stub model"
	if s.ownModel {
		name = "the model of the home's settings"
	}
	if got.Code != 0 || !got.Answer || got.Turns < 1 {
		return failing(remedy, "hermes chat with %s: exit code %d, %d request(s), the model's answer shown: %v: %s", name, got.Code, got.Turns, got.Answer, oneLine(got.Output))
	}
	return passed("hermes chat answered what %s said", name)
}
