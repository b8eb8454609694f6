package sandbox

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/envd"
)

var (
	//go:embed webui.sh
	webUIScript string
	//go:embed supervisor.sh
	supervisorScript string
	//go:embed webui_state.sh
	webUIStateScript string
)

// Why a Web UI is not started.
var (
	// ErrRunsAlready means that one runs, which all sandboxes of the template then share.
	ErrRunsAlready = errors.New("a Web UI runs already")
	// ErrBakedToken means that a token is outside the home: every sandbox of the
	// template has the same.
	ErrBakedToken = errors.New("a token came with the template")
	// ErrNoWebUI means that the template has no launcher of one.
	ErrNoWebUI = errors.New("the template has no /usr/local/bin/hermes-studio")
	// ErrBareHome means that nobody initialised the home, which this program
	// cannot without access to the node; it is left as it is.
	ErrBareHome = errors.New("the home has no config.yaml")
	// ErrWebUI means that the Web UI was started and does not serve.
	ErrWebUI = errors.New("the Web UI does not serve")
)

// How long the Web UI may take before it listens: Hermes sleeps for minutes
// where it was started often.
const (
	webUITimeout = 180 * time.Second
	webUIPoll    = 300 * time.Millisecond
)

// Bounds of the look at a home's settings.
const (
	configTimeout = 10 * time.Second
	configLimit   = 1 << 20
)

// webUI is step 8.
func (m *making) webUI(ctx context.Context) (outcome, error) {
	switch {
	case m.bare && m.spec.NoWebUI && len(m.spec.Env) == 0:
		return skipped("--no-web-ui")
	case m.bare:
		return outcome{}, ErrBareHome
	case m.prepared.Home != Seeded:
		m.judgeConfig(ctx)
	}
	if err := m.override(ctx, m.service, m.spec.Env); err != nil {
		return outcome{}, err
	}
	if m.spec.NoWebUI {
		return skipped("--no-web-ui")
	}
	if err := startWebUI(ctx, m.service); err != nil {
		return outcome{}, err
	}
	if err := awaitWebUI(ctx, m.service); err != nil {
		return outcome{}, err
	}
	return done("started")
}

// judgeConfig warns of settings that Hermes cannot read: the Web UI may then not
// serve at all, and does not say why.
func (m *making) judgeConfig(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, configTimeout)
	defer cancel()
	text, err := m.service.ReadFile(limited, HomeMount+"/config.yaml", configLimit)
	if err != nil {
		return // what needs it will say so
	}
	if problem := configProblem(text); problem != "" {
		m.warn("home %s: %s; Hermes passes over all of it", m.made.Home, problem)
	}
}

func startWebUI(ctx context.Context, service *envd.Client) error {
	_, err := inside(ctx, service, webUIScript, supervisorScript)
	var failed *ScriptError
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Code {
	case 20:
		return fmt.Errorf("%w: %s", ErrRunsAlready, failed.Said)
	case 21:
		return fmt.Errorf("%w: %s", ErrBakedToken, failed.Said)
	case 22:
		return ErrNoWebUI
	}
	return fmt.Errorf("starting the Web UI: %w", err)
}

// awaitWebUI waits until something listens on its port, or it gave up.
func awaitWebUI(ctx context.Context, service *envd.Client) error {
	limited, cancel := context.WithTimeout(ctx, webUITimeout)
	defer cancel()
	for {
		said, err := inside(limited, service, webUIStateScript)
		state, rest, _ := strings.Cut(said, "\n")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return fmt.Errorf("%w: nothing listens on port %d after %s", ErrWebUI, WebUIPort, webUITimeout)
		case err != nil:
			return fmt.Errorf("looking at the Web UI: %w", err)
		case state == "listens":
			return nil
		case strings.HasPrefix(state, "ended "):
			return fmt.Errorf("%w: it ended with exit code %s%s", ErrWebUI, strings.TrimPrefix(state, "ended "), reason(rest))
		}
		select {
		case <-limited.Done():
		case <-time.After(webUIPoll):
		}
	}
}

// reason puts what the launcher said behind an error.
func reason(lines string) string {
	text := strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(lines, "hermes-studio: ", "")), "\n", "; ")
	if text == "" {
		return ""
	}
	return ": " + text
}
