package main

import (
	"context"
	"fmt"
	"io"

	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"
	"golang.org/x/sync/errgroup"
)

// syncTrees makes dest what src is less its litter, as a BuildKit client and its daemon do it: in one process, over a
// stream that carries encoded packets as gRPC would. The patterns are those that an ignore file needs for the tree that
// ours and tar make.
func syncTrees(ctx context.Context, src, dest string) error {
	tree, err := fsutil.NewFS(src)
	if err != nil {
		return fmt.Errorf("opening %s: %w", src, err)
	}
	clean, err := fsutil.NewFilterFS(tree, &fsutil.FilterOpt{ExcludePatterns: []string{"**/._*", "**/.DS_Store"}})
	if err != nil {
		return fmt.Errorf("filtering %s: %w", src, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	up, down := make(chan []byte, 64), make(chan []byte, 64)
	group.Go(func() error {
		defer close(up)
		return fsutil.Send(ctx, &packets{ctx.Done(), func() context.Context { return ctx }, up, down}, clean, nil)
	})
	group.Go(func() error {
		return fsutil.Receive(ctx, &packets{ctx.Done(), func() context.Context { return ctx }, down, up}, dest, fsutil.ReceiveOpt{})
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("syncing %s: %w", src, err)
	}
	return nil
}

// packets is one end of the stream.
type packets struct {
	done <-chan struct{}
	ctx  func() context.Context
	out  chan<- []byte
	in   <-chan []byte
}

func (p *packets) Context() context.Context { return p.ctx() }

func (p *packets) SendMsg(m any) error {
	data, err := m.(*types.Packet).Marshal()
	if err != nil {
		return err
	}
	select {
	case p.out <- data:
		return nil
	case <-p.done:
		return p.ctx().Err()
	}
}

func (p *packets) RecvMsg(m any) error {
	select {
	case data, ok := <-p.in:
		if !ok {
			return io.EOF
		}
		return m.(*types.Packet).Unmarshal(data)
	case <-p.done:
		return p.ctx().Err()
	}
}
