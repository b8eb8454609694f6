package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/envd"
	"github.com/hermesbox/hermesbox/sandbox"
)

// sandboxAdvices go from the most to the least telling.
var sandboxAdvices = []advice{
	{sandbox.ErrGone, exitFailed, "its home and workspace are intact: hermesbox sandbox create makes it again"},
	{sandbox.ErrSpec, exitUsage, "correct the flag or the key in hermesbox.yaml; nothing was sent"},
	{sandbox.ErrNoTemplate, exitFailed, "hermesbox up makes one, hermesbox template ls lists what there is; --template names another"},
	{sandbox.ErrNoDefaultHome, exitFailed, "make one with hermesbox home seed --from-template"},
	{sandbox.ErrForeign, exitFailed, "only sandboxes that hermesbox made can be rebuilt; stop it, and make one with hermesbox sandbox create"},
	{sandbox.ErrUsers, exitFailed, "open the address and log in with user and password"},
	{sandbox.ErrNoToken, exitFailed, "the Web UI was not started by hermesbox; where it made the sandbox, hermesbox sandbox rebuild SANDBOX --no-web-ui=false starts it"},
	{sandbox.ErrNoService, exitFailed, "the template must have the command service on 49983, as images from hermesbox build do; hermesbox template show tells its ports"},
	{sandbox.ErrOtherNode, exitFailed, "make the sandbox on that node with Cube 0.7.0 or later, or let all nodes share one file system under shared_root"},
	{sandbox.ErrRunsAlready, exitFailed, "the image starts it at boot, so that all sandboxes share its memory: use an image that does not, such as hermesbox build's, or --no-web-ui"},
	{sandbox.ErrBakedToken, exitFailed, "whoever has one sandbox of this template could open all: remove it from the image and make the template anew"},
	{sandbox.ErrNoWebUI, exitFailed, "use a template of an image from hermesbox build, or --no-web-ui"},
	{sandbox.ErrBareHome, exitFailed, "list the nodes under nodes: in hermesbox.yaml, so that hermesbox can seed it; or put a copy of the default home there, or run hermes-studio --init in the sandbox"},
	{sandbox.ErrWebUI, exitFailed, "hermesbox sandbox logs shows what it says, hermesbox home show whether the home's config.yaml can be read"},
	{sandbox.ErrSeedElsewhere, exitFailed, "try again, or use Cube 0.7.0 or later, which can be told the node: its name in nodes, or its address, must be as Cube lists it"},
	{sandbox.ErrReadOnly, exitFailed, "mount it read-write on the node"},
	{sandbox.ErrLocked, exitFailed, "try again when that run has ended"},
	{sandbox.ErrTaken, exitFailed, "try again; nothing was overwritten"},
	{sandbox.ErrAnswerLost, exitFailed, "hermesbox sandbox ls shows it in case it comes after all; stop it there, or rebuild it"},
	{cube.ErrHostPath, exitFailed, "a directory to mount is missing on the node that Cube chose: make it there (hermesbox node prepare, or by hand), or configure nodes: so that hermesbox does"},
	{cube.ErrBusy, exitFailed, "this Cube cannot bring it back; hermesbox sandbox rebuild makes it anew with the same home and workspace"},
	{envd.ErrNoSandbox, exitFailed, "the proxy does not know it; check cube.proxy and cube.domain, and hermesbox sandbox ls"},
	{envd.ErrNotReady, exitFailed, "the command service does not answer; hermesbox sandbox show tells the state of the sandbox, hermesbox sandbox resume wakes it"},
	{cube.ErrNotFound, exitFailed, "hermesbox sandbox ls lists what there is"},
}

// sandboxFailed gives an error of a sandbox its exit code and the next step.
func sandboxFailed(err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	if hint := hintTyped(err); hint != "" {
		return &failure{err: err, code: exitFailed, hint: hint}
	}
	for _, a := range sandboxAdvices {
		if errors.Is(err, a.is) {
			return &failure{err: err, code: a.code, hint: a.hint}
		}
	}
	if err = nodeFailed(err); errors.As(err, &f) {
		return err
	}
	return cubeFailed(err)
}

// hintTyped is the next step after an error that tells more than its kind.
func hintTyped(err error) string {
	var held *sandbox.HeldError
	var bare *sandbox.NotInitialisedError
	var twice *sandbox.TwiceError
	var elsewhere *sandbox.ElsewhereError
	var path *sandbox.PathError
	var space *sandbox.SpaceError
	var refused *cube.Error
	switch {
	case errors.As(err, &held) && held.What == "name":
		return "hermesbox sandbox rebuild " + printable(held.Holder.Title()) + " makes it anew, stop ends it; or choose another --name"
	case errors.As(err, &held):
		return "hermesbox sandbox stop " + printable(held.Holder.Title()) + " frees it; --share-home allows two, which can lose data"
	case errors.As(err, &bare):
		return "hermesbox home seed --adopt " + bare.Home + " adds what is missing; nothing of it was touched"
	case errors.As(err, &twice):
		return "name the node with --node. Nodes that share one file system have one home between them; of two homes look at both (hermesbox home show " + twice.Home + ") before you move one away"
	case errors.As(err, &elsewhere):
		return "leave --node away, or copy the home there first; it would begin anew on " + elsewhere.Node
	case errors.As(err, &path):
		return "put it right on the node; nothing of it was touched"
	case errors.As(err, &space):
		return "free space there"
	case errors.As(err, &refused) && strings.Contains(refused.Message, `"host-mount"`):
		return "set shared_root to a directory that the cluster allows to mount (allowed_host_mount_prefixes of CubeMaster, /data/shared/ by default)"
	}
	return ""
}

// createFailed adds to the error of a create or rebuild what became of the
// sandbox, and how to go on.
func (s *sandboxes) createFailed(made sandbox.Created, err error) error {
	if err == nil {
		s.app.note("%s is ready: %s", made.Name, made.URL)
		return nil
	}
	f := failed(sandboxFailed(err))
	var step *sandbox.StepError
	if !errors.As(err, &step) || step.ID == "" || errors.Is(err, sandbox.ErrGone) {
		return f
	}
	s.app.note("sandbox %s stays to be looked at: %s sandbox show %[1]s, sandbox logs %[1]s, sandbox exec %[1]s -- COMMAND", step.ID, s.app.again())
	s.app.note("%s sandbox rebuild %s makes it anew, with the same home and workspace; sandbox stop %[2]s ends it", s.app.again(), made.Name)
	return f
}

// createEnded is createFailed, and looks whether somebody ended the sandbox meanwhile.
func (s *sandboxes) createEnded(ctx context.Context, made sandbox.Created, err error) error {
	if err == nil || made.ID == "" || errors.Is(err, sandbox.ErrGone) {
		return s.createFailed(made, err)
	}
	patience := time.Duration(0)
	if errors.Is(err, envd.ErrCut) || errors.Is(err, envd.ErrNoSandbox) {
		patience = endingTime
	}
	for end := time.Now().Add(patience); ; {
		if s.gone(ctx, made.ID) {
			return s.createFailed(made, fmt.Errorf("%w meanwhile: %w", sandbox.ErrGone, err))
		}
		if ctx.Err() != nil || !time.Now().Before(end) {
			return s.createFailed(made, err)
		}
		time.Sleep(endingTime / 10)
	}
}

// endingTime is how long Cube lists a sandbox that is being ended, about.
const endingTime = 5 * time.Second

// gone tells whether Cube lists a sandbox no more.
func (s *sandboxes) gone(ctx context.Context, id string) bool {
	all, err := s.client.Cube.ListSandboxes(ctx, nil)
	return err == nil && !slices.ContainsFunc(all, func(one cube.Sandbox) bool { return one.ID == id })
}
