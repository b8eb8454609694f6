// Package procs is the process service: it starts commands, carries their input and output, and
// signals them.
//
// A process belongs to nobody: it lives on when the client that started it goes away, and every caller
// may reach it. Output that somebody reads is never lost and never reordered within one stream; output
// that nobody reads is thrown away. Every process is reaped.
package procs

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/account"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process/processconnect"
)

// killWait is how long an answer waits for a killed process to be gone.
const killWait = time.Second

// Service implements process.Process.
type Service struct {
	settings *settings.Store
	table    *table
	die      func()
}

var _ processconnect.ProcessHandler = (*Service)(nil)

// New makes a service. Connect finds an ended process for the time of retention. die is called where
// the real service would crash.
func New(s *settings.Store, retention time.Duration, die func()) *Service {
	return &Service{settings: s, table: newTable(retention), die: die}
}

// Start runs a command as the user of the request and streams its events.
func (s *Service) Start(ctx context.Context, req *connect.Request[process.StartRequest], stream *connect.ServerStream[process.StartResponse]) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	u, err := account.From(ctx, s.settings.User())
	if err != nil {
		return err
	}
	r, first, err := s.launch(u, req.Msg)
	if err != nil {
		return err
	}
	if limit, ok := ctx.Deadline(); ok {
		// Not bound to ctx: the limit holds although the client has gone.
		timer := time.AfterFunc(time.Until(limit), func() { _ = r.signal(syscall.SIGKILL) })
		go func() { <-r.over; timer.Stop() }()
	}
	err = relay(ctx, first, Keepalive(req.Header()), r.startEvent(), func(e *process.ProcessEvent) error {
		return stream.Send(&process.StartResponse{Event: e})
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.awaitForgotten() // it is being killed
	}
	return s.survive(err)
}

// survive ends the service where the real one would have.
func (s *Service) survive(err error) error {
	if errors.Is(err, errDies) {
		s.die()
		return nil
	}
	return err
}

// awaitForgotten waits a little until a killed process is no longer listed.
func (r *running) awaitForgotten() {
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case <-r.forgotten:
	case <-timer.C:
	}
}

// Connect streams what a process does from now on; of one that has ended, just the end.
func (s *Service) Connect(ctx context.Context, req *connect.Request[process.ConnectRequest], stream *connect.ServerStream[process.ConnectResponse]) error {
	send := func(e *process.ProcessEvent) error { return stream.Send(&process.ConnectResponse{Event: e}) }
	r, err := s.table.find(req.Msg.GetProcess())
	if err == nil {
		return s.survive(relay(ctx, r.out.listen(), Keepalive(req.Header()), r.startEvent(), send))
	}
	e := s.table.findEnded(req.Msg.GetProcess())
	if e == nil {
		return err
	}
	if err := send(startEvent(e.pid)); err != nil {
		return err
	}
	return send(e.end)
}

// List gives the living processes.
func (s *Service) List(context.Context, *connect.Request[process.ListRequest]) (*connect.Response[process.ListResponse], error) {
	list := &process.ListResponse{}
	for _, r := range s.table.all() {
		list.Processes = append(list.Processes, &process.ProcessInfo{Config: r.config, Pid: r.pid(), Tag: r.tag})
	}
	return connect.NewResponse(list), nil
}

// Update resizes a terminal.
func (s *Service) Update(_ context.Context, req *connect.Request[process.UpdateRequest]) (*connect.Response[process.UpdateResponse], error) {
	r, err := s.table.find(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if req.Msg.Pty != nil {
		if err := r.resize(req.Msg.GetPty().GetSize()); err != nil {
			return nil, connect.NewError(connect.CodeInternal, err)
		}
	}
	return connect.NewResponse(&process.UpdateResponse{}), nil
}

// SendSignal sends SIGTERM or SIGKILL to one process, not to its children.
func (s *Service) SendSignal(_ context.Context, req *connect.Request[process.SendSignalRequest]) (*connect.Response[process.SendSignalResponse], error) {
	r, err := s.table.find(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	var sig syscall.Signal
	switch req.Msg.GetSignal() {
	case process.Signal_SIGNAL_SIGTERM:
		sig = syscall.SIGTERM
	case process.Signal_SIGNAL_SIGKILL:
		sig = syscall.SIGKILL
	default:
		return nil, connect.NewError(connect.CodeUnimplemented, fmt.Errorf("invalid signal: %s", req.Msg.GetSignal()))
	}
	if err := r.signal(sig); err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("error sending signal: %w", err))
	}
	if sig == syscall.SIGKILL {
		r.awaitForgotten()
	}
	return connect.NewResponse(&process.SendSignalResponse{}), nil
}
