package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
)

// question is one check.
type question struct {
	id, title string
	// needs are checks without which this one cannot be judged.
	needs []string
	// from are the sections of facts that it reads, with their probe before the
	// colon; they are gathered for it alone.
	from []string
	// own tells that it makes sandboxes.
	own bool
	ask func(*subject, context.Context) check.Result
}

// questions are all checks, each behind those that it needs.
func questions() []question {
	service := []string{"command-service"}
	mounted := []string{"command-service", "mounts"}
	serving := []string{"command-service", "web-ui"}
	return []question{
		{id: "command-service", title: "the command service answers on 49983, from inside and through the proxy", from: []string{"facts:local"}, ask: (*subject).commandService},
		{id: "mounts", title: "home, workspace and public skills are mounted in their places and modes", needs: service, from: []string{"facts:mounts", "facts:nonces"}, ask: (*subject).mounts},
		{id: "write-probe", title: "home and workspace can be written, the public skills cannot", needs: mounted, from: []string{"facts:write"}, ask: (*subject).writeProbe},
		{id: "node", title: "the sandbox sees the directories of its node", needs: mounted, from: []string{"facts:nonces"}, ask: (*subject).nodes},
		{id: "seeded", title: "the home has what the default home has", needs: mounted, from: []string{"facts:home", "facts:nonces"}, ask: (*subject).seeded},
		{id: "litter", title: "no macOS litter", needs: service, from: []string{"facts:litter", "facts:source"}, ask: (*subject).litter},
		{id: "source", title: "every source file is there as it was hashed, and no other", needs: service, from: []string{"facts:source"}, ask: (*subject).source},
		{id: "agent-import", title: "the agent's tools can be imported", needs: service, from: []string{"agent:imports"}, ask: (*subject).agentImport},
		{id: "agent-version", title: "hermes --version is the source's", needs: service, from: []string{"agent:version", "facts:version"}, ask: (*subject).agentVersion},
		{id: "overlay", title: "every public skill is linked or overridden, and listed once", needs: []string{"command-service", "mounts", "agent-version"}, from: []string{"agent:listed", "facts:public"}, ask: (*subject).overlay},
		{id: "web-ui", title: "the Web UI answers on 9000, from inside and through the proxy", needs: service, from: []string{"facts:local"}, ask: (*subject).webUI},
		{id: "identity", title: "commands get the user, HOME and HERMES_HOME of the Web UI", needs: serving, from: []string{"facts:web"}, ask: (*subject).identity},
		{id: "secrets", title: "no secret came with the template, and the Web UI asks for its token", needs: serving, from: []string{"facts:secrets", "facts:web"}, ask: (*subject).secrets},
		{id: "system", title: "clock, disk, one gateway, no crash loop", needs: service, from: []string{"facts:system", "facts:ended"}, ask: (*subject).system},
		{id: "egress-allowed", title: "each model endpoint answers", needs: service, from: []string{"network:allowed"}, ask: (*subject).egressAllowed},
		{id: "egress-denied", title: "what the policy denies is out of reach", needs: service, from: []string{"network:denied"}, ask: (*subject).egressDenied},
		{id: "agent-turn", title: "the agent takes a turn against a model", needs: []string{"command-service", "agent-import", "agent-version"}, from: []string{"network:turn"}, ask: (*subject).agentTurn},
		{id: "rebuild", title: "a second sandbox on the same home and workspace goes on where the first ended", needs: []string{"command-service", "mounts", "write-probe", "node"}, own: true, ask: (*subject).rebuild},
		{id: "isolation", title: "nothing of it is seen from elsewhere, and nothing else was changed", needs: []string{"command-service", "mounts", "write-probe", "node", "rebuild"}, own: true, ask: (*subject).isolation},
	}
}

// judge asks a question, unless a check that it needs has failed.
func (s *subject) judge(ctx context.Context, q question, before []check.Check) check.Result {
	if q.own && s.own == nil {
		return skipped("it needs sandboxes of its own: run verify without naming one")
	}
	for _, c := range before {
		if !slices.Contains(q.needs, c.ID) {
			continue
		}
		cause := c.Because
		if c.Status == check.Fail {
			cause = c.ID
		}
		if cause != "" {
			return check.Result{Status: check.Skip, Because: cause, Evidence: "not judged because " + cause + " failed"}
		}
	}
	return q.ask(s, ctx)
}

func passed(format string, args ...any) check.Result {
	return check.Result{Status: check.Pass, Evidence: fmt.Sprintf(format, args...)}
}

func failing(remedy, format string, args ...any) check.Result {
	return check.Result{Status: check.Fail, Evidence: fmt.Sprintf(format, args...), Remedy: remedy}
}

func warning(remedy, format string, args ...any) check.Result {
	return check.Result{Status: check.Warn, Evidence: fmt.Sprintf(format, args...), Remedy: remedy}
}

func skipped(why string) check.Result {
	return check.Result{Status: check.Skip, Evidence: "skipped: " + why}
}

// unknown is a check whose facts could not be had.
func unknown(err error) check.Result {
	remedy := "look inside with hermesbox sandbox connect, and verify again"
	if errors.Is(err, answer.Err) {
		remedy = "something in the sandbox writes into what verify reads: look inside with hermesbox sandbox connect"
	}
	return failing(remedy, "%v", err)
}

// shown are the first few of many names, which come from inside.
func shown(names []string) string {
	const most = 5
	var out []string
	for _, name := range names[:min(most, len(names))] {
		out = append(out, fmt.Sprintf("%q", name))
	}
	if len(names) > most {
		out = append(out, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(out, ", ")
}

// oneLine is the end of what a program said.
func oneLine(text string) string {
	lines := strings.FieldsFunc(strings.ToValidUTF8(strings.TrimSpace(text), "?"), func(r rune) bool { return r == '\n' || r == '\r' })
	joined := strings.Join(lines[max(0, len(lines)-3):], " | ")
	return joined[max(0, len(joined)-400):]
}
