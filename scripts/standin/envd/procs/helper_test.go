package procs

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os/user"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process/processconnect"
)

// rig is a service behind a loopback port, and a client of it.
type rig struct {
	processconnect.ProcessClient
	service *Service
	died    chan struct{}
}

func newRig(t *testing.T, retention time.Duration) *rig {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	store := settings.New(false)
	if err := store.Apply(settings.Update{DefaultUser: &me.Username}); err != nil {
		t.Fatal(err)
	}
	r := &rig{died: make(chan struct{}, 1)}
	r.service = New(store, retention, func() { r.died <- struct{}{} })
	mux := http.NewServeMux()
	mux.Handle(processconnect.NewProcessHandler(r.service))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	transport := &http.Transport{MaxIdleConns: -1, DisableKeepAlives: true}
	r.ProcessClient = processconnect.NewProcessClient(&http.Client{Transport: transport}, "http://"+listener.Addr().String())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		r.killAll(ctx, t)
		_ = server.Close()
		<-done
	})
	return r
}

// killAll leaves no process of the test behind.
func (r *rig) killAll(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, p := range r.service.table.all() {
		if err := p.signal(9); err != nil {
			t.Errorf("killing %d: %v", p.pid(), err)
		}
		select {
		case <-p.forgotten:
		case <-ctx.Done():
			t.Errorf("process %d does not end", p.pid())
		}
	}
}

// events is a stream of process events, whichever call opened it.
type events interface {
	Receive() bool
	Err() error
	Close() error
}

// stream reads events of Start and Connect.
type stream struct {
	t    *testing.T
	next func() *process.ProcessEvent
	events
	pid uint32
}

func shell(script string, change ...func(*process.StartRequest)) *process.StartRequest {
	stdin := false
	msg := &process.StartRequest{Process: &process.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", script}}, Stdin: &stdin}
	for _, c := range change {
		c(msg)
	}
	return msg
}

func tagged(tag string) func(*process.StartRequest) {
	return func(m *process.StartRequest) { m.Tag = &tag }
}

func withStdin(m *process.StartRequest) { m.Stdin = nil }

func withPTY(cols, rows uint32) func(*process.StartRequest) {
	return func(m *process.StartRequest) {
		m.Pty = &process.PTY{Size: &process.PTY_Size{Cols: cols, Rows: rows}}
	}
}

// start opens a stream and reads its start event.
func (r *rig) start(ctx context.Context, t *testing.T, msg *process.StartRequest, header ...string) *stream {
	t.Helper()
	req := connect.NewRequest(msg)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header().Set(header[i], header[i+1])
	}
	s, err := r.Start(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, s, func() *process.ProcessEvent { return s.Msg().GetEvent() })
}

func (r *rig) connect(ctx context.Context, t *testing.T, sel *process.ProcessSelector) *stream {
	t.Helper()
	s, err := r.Connect(ctx, connect.NewRequest(&process.ConnectRequest{Process: sel}))
	if err != nil {
		t.Fatal(err)
	}
	return open(t, s, func() *process.ProcessEvent { return s.Msg().GetEvent() })
}

func open(t *testing.T, e events, next func() *process.ProcessEvent) *stream {
	t.Helper()
	s := &stream{t: t, next: next, events: e}
	t.Cleanup(func() { _ = e.Close() })
	if !e.Receive() {
		t.Fatalf("no start event: %v", e.Err())
	}
	start := next().GetStart()
	if start.GetPid() == 0 {
		t.Fatalf("first event: %v", next())
	}
	s.pid = start.GetPid()
	return s
}

// result is what a stream gave so far.
type result struct {
	stdout, stderr, pty bytes.Buffer
	keepalives          int
	end                 *process.ProcessEvent_EndEvent
	err                 error
}

// read reads until the stream ends or until says so.
func (s *stream) read(until func(*result) bool) *result {
	s.t.Helper()
	res := &result{}
	for s.Receive() {
		e := s.next()
		if d := e.GetData(); d != nil {
			res.stdout.Write(d.GetStdout())
			res.stderr.Write(d.GetStderr())
			res.pty.Write(d.GetPty())
			if n := len(d.GetStdout()) + len(d.GetStderr()) + len(d.GetPty()); n > frameBytes || n == 0 {
				s.t.Errorf("a data event of %d bytes", n)
			}
		}
		if e.GetKeepalive() != nil {
			res.keepalives++
		}
		if e.GetEnd() != nil {
			res.end = e.GetEnd()
		}
		if until(res) {
			return res
		}
	}
	res.err = s.Err()
	return res
}

func (s *stream) all() *result { return s.read(func(*result) bool { return false }) }

// shows reads until the output holds text.
func (s *stream) shows(text string) {
	s.t.Helper()
	found := func(r *result) bool {
		return bytes.Contains(r.stdout.Bytes(), []byte(text)) || bytes.Contains(r.pty.Bytes(), []byte(text))
	}
	if res := s.read(found); !found(res) {
		s.t.Fatalf("no %q in %q (error %v)", text, res.stdout.String()+res.pty.String(), res.err)
	}
}

func byPID(pid uint32) *process.ProcessSelector {
	return &process.ProcessSelector{Selector: &process.ProcessSelector_Pid{Pid: pid}}
}

func byTag(tag string) *process.ProcessSelector {
	return &process.ProcessSelector{Selector: &process.ProcessSelector_Tag{Tag: tag}}
}

func (r *rig) send(ctx context.Context, pid uint32, text string) error {
	in := &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: []byte(text)}}
	_, err := r.SendInput(ctx, connect.NewRequest(&process.SendInputRequest{Process: byPID(pid), Input: in}))
	return err
}

func (r *rig) typing(ctx context.Context, pid uint32, text string) error {
	in := &process.ProcessInput{Input: &process.ProcessInput_Pty{Pty: []byte(text)}}
	_, err := r.SendInput(ctx, connect.NewRequest(&process.SendInputRequest{Process: byPID(pid), Input: in}))
	return err
}

func (r *rig) kill(ctx context.Context, pid uint32, sig process.Signal) error {
	_, err := r.SendSignal(ctx, connect.NewRequest(&process.SendSignalRequest{Process: byPID(pid), Signal: sig}))
	return err
}

func (r *rig) closeStdin(ctx context.Context, pid uint32) error {
	_, err := r.CloseStdin(ctx, connect.NewRequest(&process.CloseStdinRequest{Process: byPID(pid)}))
	return err
}

func (r *rig) resize(ctx context.Context, pid uint32, cols, rows uint32) error {
	p := &process.PTY{Size: &process.PTY_Size{Cols: cols, Rows: rows}}
	_, err := r.Update(ctx, connect.NewRequest(&process.UpdateRequest{Process: byPID(pid), Pty: p}))
	return err
}

func (r *rig) pids(ctx context.Context, t *testing.T) []uint32 {
	t.Helper()
	list, err := r.List(ctx, connect.NewRequest(&process.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	var pids []uint32
	for _, p := range list.Msg.GetProcesses() {
		pids = append(pids, p.GetPid())
	}
	return pids
}

// wantError fails unless err has the code and its text holds the message.
func wantError(t *testing.T, err error, code connect.Code, message string) {
	t.Helper()
	if connect.CodeOf(err) != code || err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("error %v, want %v with %q", err, code, message)
	}
}
