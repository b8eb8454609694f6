package procs

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

func TestInput(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	ctx := t.Context()
	s := rig.start(ctx, t, shell("cat", withStdin))
	large := strings.Repeat("0123456789", 100000)
	go func() {
		for _, text := range []string{"a", "", large, "b"} {
			if err := rig.send(ctx, s.pid, text); err != nil {
				t.Errorf("sending %d bytes: %v", len(text), err)
			}
		}
		if err := rig.closeStdin(ctx, s.pid); err != nil {
			t.Errorf("closing: %v", err)
		}
	}()
	if got := s.all(); got.stdout.String() != "a"+large+"b" {
		t.Errorf("%d bytes came back, want %d", got.stdout.Len(), len(large)+2)
	}
}

func TestInputErrors(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	ctx := t.Context()
	none := rig.start(ctx, t, shell("sleep 60")).pid
	pipe := rig.start(ctx, t, shell("sleep 60", withStdin)).pid
	tty := rig.start(ctx, t, shell("sleep 60", withPTY(80, 24))).pid
	deaf := rig.start(ctx, t, shell("exec <&-; echo deaf; sleep 60", withStdin))
	deaf.shows("deaf")
	wantError(t, rig.send(ctx, none, "x"), connect.CodeInternal, "error writing to stdin: stdin not enabled or closed")
	wantError(t, rig.typing(ctx, pipe, "x"), connect.CodeInternal, "error writing to tty: tty not assigned to process")
	wantError(t, rig.send(ctx, tty, "x"), connect.CodeInternal, "error writing to stdin: tty assigned to process")
	wantError(t, rig.send(ctx, deaf.pid, "x"), connect.CodeInternal, "error writing to stdin: write |1: broken pipe")
	wantError(t, rig.closeStdin(ctx, tty), connect.CodeUnknown, "cannot close stdin for PTY process")
	wantError(t, rig.resize(ctx, pipe, 1, 1), connect.CodeInternal, "error resizing tty: tty not assigned to process")
	for range 2 {
		if err := rig.closeStdin(ctx, pipe); err != nil {
			t.Errorf("closing stdin: %v", err)
		}
	}
	if err := rig.closeStdin(ctx, none); err != nil {
		t.Errorf("closing no stdin: %v", err)
	}
	wantError(t, rig.send(ctx, pipe, "x"), connect.CodeInternal, "error writing to stdin: stdin not enabled or closed")
	for name, err := range map[string]error{
		"send": rig.send(ctx, 999999, ""), "close": rig.closeStdin(ctx, 999999), "resize": rig.resize(ctx, 999999, 1, 1),
		"signal": rig.kill(ctx, 999999, process.Signal_SIGNAL_SIGKILL),
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, err, connect.CodeNotFound, "process with pid 999999 not found")
		})
	}
	_, err := rig.SendInput(ctx, connect.NewRequest(&process.SendInputRequest{Process: byPID(pipe)}))
	wantError(t, err, connect.CodeUnimplemented, "invalid input type <nil>")
}

// TestBlockedInput: a write that nobody reads ends with its caller, and with the process.
func TestBlockedInput(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	for _, test := range []struct {
		name  string
		start *process.StartRequest
		send  func(context.Context, uint32, string) error
	}{
		{"pipe", shell("echo ready; exec sleep 60", withStdin), rig.send},
		{"terminal", shell("stty raw -echo; echo ready; exec sleep 60", withPTY(80, 24)), rig.typing},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := rig.start(t.Context(), t, test.start)
			s.shows("ready")
			large := strings.Repeat("x", 1<<20)
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			wantError(t, test.send(short, s.pid, large), connect.CodeDeadlineExceeded, "")
			wantError(t, test.send(short, s.pid, "y"), connect.CodeDeadlineExceeded, "")
			rig.awaitTurn(t, s.pid, 1)
			blocked := make(chan error, 1)
			go func() { blocked <- test.send(t.Context(), s.pid, large) }()
			rig.awaitTurn(t, s.pid, 0)
			queued, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if test.name == "pipe" {
				_, err := rig.CloseStdin(queued, connect.NewRequest(&process.CloseStdinRequest{Process: byPID(s.pid)}))
				wantError(t, err, connect.CodeDeadlineExceeded, "")
			}
			if err := rig.kill(t.Context(), s.pid, process.Signal_SIGNAL_SIGKILL); err != nil {
				t.Fatal(err)
			}
			wantError(t, <-blocked, connect.CodeInternal, "error writing to")
		})
	}
}

// awaitTurn waits until nobody writes to a process (1), or somebody does (0).
func (r *rig) awaitTurn(t *testing.T, pid uint32, free int) {
	t.Helper()
	p, err := r.service.table.find(byPID(pid))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if len(p.stdin.turn) == free {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the input does not become %d", free)
}

func TestStreamInput(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	ctx := t.Context()
	data := func(text string) *process.StreamInputRequest {
		in := &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: []byte(text)}}
		return &process.StreamInputRequest{Event: &process.StreamInputRequest_Data{Data: &process.StreamInputRequest_DataEvent{Input: in}}}
	}
	start := func(pid uint32) *process.StreamInputRequest {
		return &process.StreamInputRequest{Event: &process.StreamInputRequest_Start{Start: &process.StreamInputRequest_StartEvent{Process: byPID(pid)}}}
	}
	send := func(messages ...*process.StreamInputRequest) error {
		in := rig.StreamInput(ctx)
		for _, m := range messages {
			if err := in.Send(m); err != nil {
				break // CloseAndReceive gives the reason
			}
		}
		_, err := in.CloseAndReceive()
		return err
	}
	s := rig.start(ctx, t, shell("cat", withStdin))
	keepalive := &process.StreamInputRequest{Event: &process.StreamInputRequest_Keepalive{Keepalive: &process.StreamInputRequest_KeepAlive{}}}
	if err := send(start(s.pid), data("one "), keepalive, data("two")); err != nil {
		t.Fatal(err)
	}
	wantError(t, send(start(999999)), connect.CodeNotFound, "process with pid 999999 not found")
	wantError(t, send(&process.StreamInputRequest{}), connect.CodeUnimplemented, "invalid event type <nil>")
	wantError(t, send(data("x")), connect.CodeUnavailable, "") // the connection is closed without an answer
	if err := rig.closeStdin(ctx, s.pid); err != nil {
		t.Fatal(err)
	}
	if got := s.all(); got.stdout.String() != "one two" {
		t.Errorf("%q came back", got.stdout.String())
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	s := rig.start(t.Context(), t, shell("echo ready; exec sleep 60"))
	s.shows("ready")
	for _, sig := range []process.Signal{0, 2, 99} {
		wantError(t, rig.kill(t.Context(), s.pid, sig), connect.CodeUnimplemented, "invalid signal: ")
	}
	if err := rig.kill(t.Context(), s.pid, process.Signal_SIGNAL_SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := s.all(); got.end.GetStatus() != "signal: terminated" || got.end.GetExitCode() != -1 || got.end.GetExited() {
		t.Errorf("end: %v", got.end)
	}
	s = rig.start(t.Context(), t, shell("sleep 60"))
	if err := rig.kill(t.Context(), s.pid, process.Signal_SIGNAL_SIGKILL); err != nil {
		t.Fatal(err)
	}
	if pids := rig.pids(t.Context(), t); len(pids) > 0 {
		t.Errorf("listed after SIGKILL was answered: %v", pids)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	ctx := t.Context()
	s := rig.start(ctx, t, shell("stty size; test -t 2 && echo tty; read x; stty size; read y; exec sleep 60", withPTY(100, 30)))
	s.shows("30 100\r\ntty\r\n")
	if err := rig.resize(ctx, s.pid, 132, 50); err != nil {
		t.Fatal(err)
	}
	if _, err := rig.Update(ctx, connect.NewRequest(&process.UpdateRequest{Process: byPID(s.pid)})); err != nil {
		t.Errorf("changing nothing: %v", err)
	}
	if err := rig.typing(ctx, s.pid, "go\n"); err != nil {
		t.Fatal(err)
	}
	s.shows("50 132\r\n")
	if err := rig.typing(ctx, s.pid, "\x03"); err != nil {
		t.Fatal(err)
	}
	if got := s.all(); got.end.GetStatus() != "signal: interrupt" {
		t.Errorf("end: %v", got.end)
	}
}

func TestTerminalHeld(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	s := rig.start(t.Context(), t, shell(`trap "" HUP; sleep 30 & echo ready; wait`, withPTY(80, 24)))
	s.shows("ready")
	if err := rig.resize(t.Context(), s.pid, 10, 10); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := rig.kill(t.Context(), s.pid, process.Signal_SIGNAL_SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := s.all(); got.end.GetStatus() != "signal: killed" || time.Since(begin) > 10*time.Second {
		t.Errorf("end: %v after %v", got.end, time.Since(begin))
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	ctx := t.Context()
	rig.start(ctx, t, shell("sleep 60"))
	first := rig.start(ctx, t, shell("sleep 60", tagged("first")))
	second := rig.start(ctx, t, shell("sleep 60", tagged("second")))
	if got := rig.connect(ctx, t, byTag("first")).pid; got != first.pid {
		t.Errorf("tag first: pid %d, want %d", got, first.pid)
	}
	_, err := rig.service.table.find(byTag("second"))
	wantError(t, err, connect.CodeNotFound, "process with tag second not found")
	if err := rig.kill(ctx, first.pid, process.Signal_SIGNAL_SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := rig.connect(ctx, t, byTag("second")).pid; got != second.pid {
		t.Errorf("tag second: pid %d, want %d", got, second.pid)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	rig := newRig(t, time.Minute)
	t.Run("the client stays", func(t *testing.T) {
		t.Parallel()
		s := rig.start(t.Context(), t, shell("echo a; exec sleep 60"), "Connect-Timeout-Ms", "300")
		got := s.all()
		wantError(t, got.err, connect.CodeDeadlineExceeded, "context deadline exceeded")
		if got.stdout.String() != "a\n" || got.end != nil {
			t.Errorf("%q and end %v", got.stdout.String(), got.end)
		}
		if _, err := rig.service.table.find(byPID(s.pid)); err == nil {
			t.Error("the process is still listed")
		}
	})
	t.Run("the client leaves", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		s := rig.start(ctx, t, shell("exec sleep 60"), "Connect-Timeout-Ms", "500")
		cancel()
		got := rig.connect(t.Context(), t, byPID(s.pid)).all()
		if got.end.GetStatus() != "signal: killed" {
			t.Errorf("end: %v", got.end)
		}
	})
	t.Run("over before the start", func(t *testing.T) {
		t.Parallel()
		s, err := rig.Start(t.Context(), withHeader(shell("true"), "Connect-Timeout-Ms", "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for s.Receive() {
			t.Errorf("an event: %v", s.Msg())
		}
		wantError(t, s.Err(), connect.CodeDeadlineExceeded, "")
	})
}

func withHeader(msg *process.StartRequest, name, value string) *connect.Request[process.StartRequest] {
	req := connect.NewRequest(msg)
	req.Header().Set(name, value)
	return req
}

func TestKeepalive(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	got := rig.start(t.Context(), t, shell("sleep 2.5; echo done"), "Keepalive-Ping-Interval", "1").all()
	if got.keepalives != 2 || got.stdout.String() != "done\n" {
		t.Errorf("%d keepalives and %q", got.keepalives, got.stdout.String())
	}
	got = rig.start(t.Context(), t, shell("for i in 1 2 3 4 5; do sleep 0.5; echo $i; done"), "Keepalive-Ping-Interval", "1").all()
	if got.keepalives != 0 {
		t.Errorf("%d keepalives between outputs", got.keepalives)
	}
	for given, want := range map[string]time.Duration{"": DefaultKeepalive, "soon": DefaultKeepalive, "5": 5 * time.Second, "0": 0, "-1": -time.Second} {
		if got := Keepalive(withHeader(nil, "Keepalive-Ping-Interval", given).Header()); got != want {
			t.Errorf("interval %q: %v, want %v", given, got, want)
		}
	}
}

func TestKeepaliveKills(t *testing.T) {
	t.Parallel()
	for _, interval := range []string{"0", "-1"} {
		rig := newRig(t, 0)
		rig.start(t.Context(), t, shell("sleep 60"), "Keepalive-Ping-Interval", interval)
		<-rig.died
	}
}

// TestTimeoutIsNoEnd: the process dies when its time is over; that is never reported as its end.
func TestTimeoutIsNoEnd(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	for range 100 {
		s, err := rig.Start(t.Context(), withHeader(shell("exec sleep 60"), "Connect-Timeout-Ms", "20"))
		if err != nil {
			t.Fatal(err)
		}
		for s.Receive() {
			if s.Msg().GetEvent().GetEnd() != nil {
				t.Fatalf("an end: %v", s.Msg())
			}
		}
		wantError(t, s.Err(), connect.CodeDeadlineExceeded, "")
	}
}
