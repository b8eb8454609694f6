package procs

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

func ending(code int32, exited bool, status string) *process.ProcessEvent_EndEvent {
	end := &process.ProcessEvent_EndEvent{ExitCode: code, Exited: exited, Status: status}
	if code != 0 {
		end.Error = &status
	}
	return end
}

func TestStart(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	for _, test := range []struct {
		name           string
		msg            *process.StartRequest
		stdout, stderr string
		end            *process.ProcessEvent_EndEvent
	}{
		{"both outputs", shell("echo out; echo err >&2"), "out\n", "err\n", ending(0, true, "exit status 0")},
		{"exit code", shell("exit 3"), "", "", ending(3, true, "exit status 3")},
		{"signal", shell("kill -KILL $$"), "", "", ending(-1, false, "signal: killed")},
		{"no stdin", shell("cat; echo eof"), "eof\n", "", ending(0, true, "exit status 0")},
		{"cwd", shell("pwd", func(m *process.StartRequest) { m.Process.Cwd = ptr("/usr/bin") }), "/usr/bin\n", "", ending(0, true, "exit status 0")},
		{
			"environment", shell("echo $A-$B", func(m *process.StartRequest) { m.Process.Envs = map[string]string{"A": "1", "B": "two words"} }),
			"1-two words\n", "", ending(0, true, "exit status 0"),
		},
		{
			"missing", &process.StartRequest{Process: &process.ProcessConfig{Cmd: "/no/such"}}, "",
			"/usr/bin/nice: '/no/such': No such file or directory\n", ending(127, true, "exit status 127"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := rig.start(t.Context(), t, test.msg).all()
			if got.err != nil || got.stdout.String() != test.stdout || got.stderr.String() != test.stderr {
				t.Errorf("%q %q (error %v), want %q %q", got.stdout.String(), got.stderr.String(), got.err, test.stdout, test.stderr)
			}
			if diff := cmp.Diff(test.end, got.end, protocmp.Transform()); diff != "" {
				t.Errorf("end (-want +got):\n%s", diff)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestStartFails(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	for _, test := range []struct {
		name    string
		msg     *process.StartRequest
		message string
	}{
		{"cwd missing", shell("true", func(m *process.StartRequest) { m.Process.Cwd = ptr("/no/such") }), "cwd '/no/such' does not exist"},
		{"cwd missing, terminal", shell("true", withPTY(1, 1), func(m *process.StartRequest) { m.Process.Cwd = ptr("/no/such") }), "cwd '/no/such' does not exist"},
		{"cwd a file", shell("true", func(m *process.StartRequest) { m.Process.Cwd = ptr("/etc/passwd") }), "fork/exec /bin/sh: not a directory"},
		{"cwd of another", shell("true", func(m *process.StartRequest) { m.Process.Cwd = ptr("~root") }), "cannot expand user-specific home dir"},
		{"NUL", shell("a\x00b"), "error starting process '/bin/sh -c a\x00b': fork/exec /bin/sh: invalid argument"},
		{"NUL, terminal", shell("a\x00b", withPTY(1, 1)), "fork/exec /bin/sh: invalid argument"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := rig.Start(t.Context(), connect.NewRequest(test.msg))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Receive() {
				t.Errorf("an event: %v", s.Msg())
			}
			wantError(t, s.Err(), connect.CodeInvalidArgument, test.message)
		})
	}
}

func TestUnknownUser(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	if err := rig.service.settings.Apply(settings.Update{DefaultUser: ptr("nosuch")}); err != nil {
		t.Fatal(err)
	}
	s, err := rig.Start(t.Context(), connect.NewRequest(shell("true")))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Receive() {
		t.Errorf("an event: %v", s.Msg())
	}
	wantError(t, s.Err(), connect.CodeUnauthenticated, "invalid default user: 'nosuch'")
	if err := rig.service.Run("true"); err == nil || !strings.Contains(err.Error(), "unknown user nosuch") {
		t.Errorf("Run: %v", err)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	if err := rig.service.Run("exec sleep 60"); err != nil {
		t.Fatal(err)
	}
	list, err := rig.List(t.Context(), connect.NewRequest(&process.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Msg.GetProcesses()) != 1 || list.Msg.GetProcesses()[0].GetTag() != "startCmd" {
		t.Errorf("List: %v", list.Msg)
	}
	if err := rig.service.settings.Apply(settings.Update{DefaultWorkdir: ptr("/no/such")}); err != nil {
		t.Fatal(err)
	}
	if err := rig.service.Run("true"); err == nil {
		t.Error("Run in a directory that is not there: no error")
	}
}
