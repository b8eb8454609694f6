package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/sandbox"
)

// marks is what a sandbox sees of another's marks.
type marks struct {
	Seen      map[string]string `json:"seen"`
	Workspace []string          `json:"workspace"`
	Skills    []string          `json:"skills"`

	token string // of the Web UI; empty where it has none
}

// places are where the first sandbox leaves its mark.
func (m *own) files() []string {
	return []string{sandbox.HomeMount + "/" + m.marked, sandbox.WorkspaceMount + "/" + m.marked}
}

// leave writes the marks in the first sandbox, and looks at what must stay the same.
func (s *subject) leave(ctx context.Context) (marks, error) {
	for _, file := range s.own.files() {
		if err := s.service.Put(ctx, file, 0o600, strings.NewReader(s.own.id+"\n")); err != nil {
			return marks{}, fmt.Errorf("leaving a mark: %w", err)
		}
	}
	return s.own.look(ctx, s.box, s.service)
}

// look asks a sandbox what it sees.
func (m *own) look(ctx context.Context, box sandbox.Sandbox, service *envd.Client) (marks, error) {
	found, err := gather(ctx, service, factsProbe, map[string]any{"want": []string{"marker"}, "markers": m.files()})
	if err != nil {
		return marks{}, err
	}
	var out marks
	if err := found.read("marker", &out); err != nil {
		return out, err
	}
	out.token, err = m.client.Token(ctx, box, service)
	if errors.Is(err, sandbox.ErrUsers) || errors.Is(err, sandbox.ErrNoToken) {
		err = nil
	}
	return out, err
}

// inside does something in another sandbox of this run.
func (m *own) inside(box sandbox.Sandbox, do func(*envd.Client) error) error {
	service, err := m.client.Route.Service(box)
	if err != nil {
		return err
	}
	defer service.Close()
	return do(service)
}

func (s *subject) rebuild(ctx context.Context) check.Result {
	const remedy = "look at the sandbox and its node; homes and workspaces must outlive sandboxes"
	before, err := s.leave(ctx)
	if err != nil {
		return failing(remedy, "%v", err)
	}
	box, err := s.own.rebuild(ctx, s.box)
	if box.ID == "" {
		return failing("hermesbox sandbox rebuild tells more", "no second sandbox came about: %v", err)
	}
	var after marks
	err = errors.Join(err, s.own.inside(box, func(service *envd.Client) (err error) {
		if after, err = s.own.look(ctx, box, service); err != nil {
			return err
		}
		return errors.Join(s.own.differ(before, after), s.stillOpen(ctx, service))
	}))
	if err != nil {
		return failing(remedy, "sandbox %s: %s", box.ID, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	network := ""
	if s.reachedAll() {
		network = ", and the network open"
	}
	return passed("sandbox %s has the marks in home and workspace, the same token and the same %d skills%s", box.ID, len(before.Skills), network)
}

// differ says what the second sandbox has not that the first had.
func (m *own) differ(before, after marks) error {
	var errs []error
	for _, file := range m.files() {
		if after.Seen[file] != m.id {
			errs = append(errs, fmt.Errorf("the mark %s is not there", file))
		}
	}
	// Hermes brings skills of its own into a home at its first start, maybe between the two looks.
	lost := less(before.Skills, after.Skills)
	come := slices.DeleteFunc(less(after.Skills, before.Skills), func(name string) bool { return !strings.Contains(name, " -> ") })
	if len(lost)+len(come) > 0 {
		errs = append(errs, fmt.Errorf("the skills changed: lost %s; new links %s", shown(lost), shown(come)))
	}
	if before.token != after.token {
		errs = append(errs, errors.New("the Web UI lost its state: its token is another"))
	}
	return errors.Join(errs...)
}

// less are the names that are not among others.
func less(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// stillOpen asks the model endpoints again, where the first sandbox reached them.
func (s *subject) stillOpen(ctx context.Context, service *envd.Client) error {
	var second map[string]reached
	if !s.reachedAll() {
		return nil
	}
	found, err := gather(ctx, service, networkProbe, map[string]any{"want": []string{"allowed"}, "allowed": s.options.Endpoints})
	if err != nil {
		return err
	}
	if err := found.read("allowed", &second); err != nil {
		return err
	}
	if r := judgeReached(s.options.Endpoints, second); r.Status == check.Fail {
		return fmt.Errorf("the network was open and is not: %s", r.Evidence)
	}
	return nil
}

// reachedAll tells whether the first sandbox reached its model endpoints.
func (s *subject) reachedAll() bool {
	var first map[string]reached
	err := s.read("network", "allowed", &first)
	return err == nil && len(first) > 0 && judgeReached(s.options.Endpoints, first).Status != check.Fail
}

func (s *subject) isolation(ctx context.Context) check.Result {
	const remedy = "look at the mounts of both sandboxes: hermesbox sandbox show"
	if s.own.beforeErr != nil {
		return failing("hermesbox node check looks at the nodes", "%v", s.own.beforeErr)
	}
	box, err := s.own.make(ctx, other(s.own.id), true)
	if box.ID == "" {
		return failing("hermesbox sandbox create tells more", "no third sandbox came about: %v", err)
	}
	var seen marks
	err = errors.Join(err, s.own.inside(box, func(service *envd.Client) (err error) {
		seen, err = s.own.look(ctx, box, service)
		return err
	}))
	if err != nil {
		return failing(remedy, "sandbox %s: %s", box.ID, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	for file, mark := range seen.Seen {
		if mark != "" {
			return failing(remedy, "a sandbox on another home and workspace sees %s", file)
		}
	}
	if len(seen.Workspace) > 0 {
		return failing(remedy, "a new workspace is not empty: %s", shown(seen.Workspace))
	}
	after, err := s.own.survey(ctx)
	if err != nil {
		return failing("hermesbox node check looks at the nodes", "%v", err)
	}
	if paths := changed(s.own.before.entries, after.entries); len(paths) > 0 {
		return failing("a sandbox must not write there, and nobody else should while verify runs", "%d changed in the default home, the public skills or other homes: %s", len(paths), shown(paths))
	}
	return passed("a sandbox on another home and workspace sees no mark; %d entries of default home, skills and idle homes are as before", len(s.own.before.entries))
}
