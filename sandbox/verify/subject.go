package verify

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/skills"
)

// subject is a sandbox under verification.
type subject struct {
	client  *sandbox.Client
	box     sandbox.Sandbox
	service *envd.Client
	options Options
	chosen  map[string]bool
	own     *own // nil where somebody else made it

	probes map[string]*later[facts]
	nonces *later[planted]
	laid   *later[skills.Overlaid]
	shell  *later[identity]
	// asked is when the facts were asked for, between which two moments the
	// sandbox told its time.
	asked, told time.Time
	// ownModel tells that the agent's turn is with the model of the home's settings.
	ownModel bool
}

// Run verifies a sandbox that is there. An error means that it could not be
// verified at all; checks that fail are in the report. Those that need sandboxes
// of their own are skipped.
func Run(ctx context.Context, client *sandbox.Client, box sandbox.Sandbox, o Options) (Report, error) {
	return run(ctx, client, box, o, nil)
}

func run(ctx context.Context, client *sandbox.Client, box sandbox.Sandbox, o Options, mine *own) (Report, error) {
	start := time.Now()
	chosen, err := selection(o.Only, o.Skip)
	if err != nil {
		return Report{}, err
	}
	service, err := client.Route.Service(box)
	if err != nil {
		return Report{}, err
	}
	defer service.Close()
	s := &subject{client: client, box: box, service: service, options: o, chosen: chosen, own: mine, probes: map[string]*later[facts]{}}
	report := Report{Sandbox: box.ID, Template: box.Template, StartedAt: start.UTC(), Checks: []check.Check{}}
	inner, cancel := context.WithCancel(ctx)
	defer s.wait() // after cancel
	defer cancel()
	report.Checks = s.ask(inner)
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	report.Status = check.Worst(report.Checks)
	report.DurationMS = time.Since(start).Milliseconds()
	return report, nil
}

// ask judges all questions that were chosen. The command service comes first:
// without it there are no facts.
func (s *subject) ask(ctx context.Context) []check.Check {
	var checks []check.Check
	healthy := s.service.WaitReady(ctx, cmp.Or(s.options.Patience, 20*time.Second)) == nil
	if healthy {
		s.gather(ctx)
	}
	for _, q := range questions() {
		if !s.chosen[q.id] && (healthy || q.id != "command-service") {
			continue
		}
		c := check.Run(q.id, q.title, func() check.Result { return s.judge(ctx, q, checks) })
		if took := s.took(q.from); took > 0 && c.Because == "" {
			c.DurationMS = took // not the time spent waiting for others
		}
		checks = append(checks, c)
	}
	return checks
}

// gather begins all that takes time, at once.
func (s *subject) gather(ctx context.Context) {
	want := map[string][]string{}
	for _, q := range questions() {
		for _, from := range q.from {
			probe, name, _ := strings.Cut(from, ":")
			if s.chosen[q.id] {
				want[probe] = append(want[probe], name)
			}
		}
	}
	if s.chosen["mounts"] || s.chosen["node"] || s.chosen["seeded"] || s.chosen["secrets"] {
		s.nonces = begin(func() (planted, error) { return s.plant(ctx) })
	}
	asked := map[string]map[string]any{"facts": {}, "agent": {}, "network": s.addresses()}
	for probe, names := range want {
		s.probes[probe] = begin(func() (facts, error) {
			asked[probe]["want"] = names
			return s.probe(ctx, probe, asked[probe])
		})
	}
	if s.chosen["overlay"] {
		s.laid = begin(func() (skills.Overlaid, error) { return skills.Status(ctx, s.service) })
	}
	if s.chosen["identity"] {
		s.shell = begin(func() (identity, error) { return s.shellIdentity(ctx) })
	}
}

func (s *subject) probe(ctx context.Context, name string, asked map[string]any) (facts, error) {
	switch name {
	case "facts":
		return s.within(ctx, asked)
	case "agent":
		return gather(ctx, s.service, agentProbe, asked)
	}
	return s.reach(ctx, asked)
}

// within gathers what can be seen inside, and the nonces.
func (s *subject) within(ctx context.Context, asked map[string]any) (got facts, err error) {
	if s.nonces != nil {
		nonces, _ := s.nonces.get() // its error is for the checks to tell
		asked["nonces"] = nonces.files()
		defer func() { s.uproot(ctx, nonces.left(got)) }()
	}
	s.asked = s.options.now()
	defer func() { s.told = s.options.now() }()
	return gather(ctx, s.service, factsProbe, asked)
}

// reach tries the network, and a turn of the agent, which are judged last.
func (s *subject) reach(ctx context.Context, asked map[string]any) (facts, error) {
	parts := networkProbe
	if s.chosen["agent-turn"] {
		parts = slices.Concat(networkProbe, turnProbe)
		s.askTurn(ctx, asked)
	}
	if s.options.Listen && s.chosen["egress-denied"] {
		heard, err := listen()
		if err != nil {
			return nil, err
		}
		defer heard.Close() //nolint:errcheck // it only listened
		asked["denied"] = append(asked["denied"].([]string), "gateway:"+heard.port())
	}
	return gather(ctx, s.service, parts, asked)
}

// read reads a section of a probe.
func (s *subject) read(probe, name string, into any) error {
	l := s.probes[probe]
	if l == nil {
		return answer.Err
	}
	found, err := l.get()
	if err != nil {
		return err
	}
	return found.read(name, into)
}

// took is how long gathering these sections took inside.
func (s *subject) took(from []string) (ms int64) {
	for _, part := range from {
		probe, name, _ := strings.Cut(part, ":")
		if l := s.probes[probe]; l != nil {
			found, _ := l.get() // the check told of its error
			ms += found[name].MS
		}
	}
	return ms
}

// wait waits for all that was begun.
func (s *subject) wait() {
	for _, l := range s.probes {
		<-l.done
	}
	waitFor(s.nonces)
	waitFor(s.laid)
	waitFor(s.shell)
}

func waitFor[T any](l *later[T]) {
	if l != nil {
		<-l.done
	}
}
