package procs

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// SendInput writes to a pipe or a terminal and returns when all is written.
func (s *Service) SendInput(ctx context.Context, req *connect.Request[process.SendInputRequest]) (*connect.Response[process.SendInputResponse], error) {
	r, err := s.table.find(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if err := r.send(ctx, req.Msg.GetInput()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&process.SendInputResponse{}), nil
}

// StreamInput writes one message after the other; the first one names the process.
func (s *Service) StreamInput(ctx context.Context, stream *connect.ClientStream[process.StreamInputRequest]) (*connect.Response[process.StreamInputResponse], error) {
	var r *running
	for stream.Receive() {
		var err error
		switch e := stream.Msg().GetEvent().(type) {
		case *process.StreamInputRequest_Start:
			r, err = s.table.find(e.Start.GetProcess())
		case *process.StreamInputRequest_Data:
			if r == nil {
				// The real service panics here, and net/http closes the connection.
				panic(http.ErrAbortHandler)
			}
			err = r.send(ctx, e.Data.GetInput())
		case *process.StreamInputRequest_Keepalive:
		default:
			err = connect.NewError(connect.CodeUnimplemented, fmt.Errorf("invalid event type %T", e))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	return connect.NewResponse(&process.StreamInputResponse{}), nil
}

func (r *running) send(ctx context.Context, in *process.ProcessInput) error {
	var err error
	switch i := in.GetInput().(type) {
	case *process.ProcessInput_Pty:
		err = r.write(ctx, true, i.Pty)
	case *process.ProcessInput_Stdin:
		err = r.write(ctx, false, i.Stdin)
	default:
		return connect.NewError(connect.CodeUnimplemented, fmt.Errorf("invalid input type %T", i))
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return contextError(ctx)
	}
	if err != nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	return nil
}

func (r *running) write(ctx context.Context, toTTY bool, b []byte) error {
	switch {
	case toTTY && r.tty == nil:
		return errNotTTY
	case !toTTY && r.tty != nil:
		return errIsTTY
	case r.stdin == nil:
		return errNoStdin
	}
	return r.stdin.write(ctx, b)
}

// CloseStdin ends the input of a process that has a pipe; without one it does nothing.
func (s *Service) CloseStdin(ctx context.Context, req *connect.Request[process.CloseStdinRequest]) (*connect.Response[process.CloseStdinResponse], error) {
	r, err := s.table.find(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if r.tty != nil {
		return nil, connect.NewError(connect.CodeUnknown, errCloseTTY)
	}
	if r.stdin != nil {
		err := r.stdin.close(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, contextError(ctx)
		}
		if err != nil {
			return nil, connect.NewError(connect.CodeUnknown, fmt.Errorf("error closing stdin: %w", err))
		}
	}
	return connect.NewResponse(&process.CloseStdinResponse{}), nil
}
