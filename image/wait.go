package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	bkclient "github.com/moby/buildkit/client"
	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"
)

// cancelGrace is how long an interrupted builder may take to stop by itself.
const cancelGrace = 1500 * time.Millisecond

// wait returns the outcome of a solve once its progress was shown, or the cause
// of ctx's end soon after it.
func wait(ctx context.Context, bk *bkclient.Client, done <-chan outcome, shown <-chan struct{}) (*bkclient.SolveResponse, error) {
	select {
	case out := <-done:
		<-shown
		return out.res, buildError(ctx, out.err, bk.Close())
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(cancelGrace):
	}
	return nil, errors.Join(context.Cause(ctx), bk.Close())
}

func buildError(ctx context.Context, solveErr, closeErr error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case solveErr != nil:
		return fmt.Errorf("%w: %w", ErrBuild, solveErr)
	case closeErr != nil:
		return fmt.Errorf("closing the builder's connection: %w", closeErr)
	}
	return nil
}

// dockerfileFS holds the recipe and an ignore file with no rule in it, which
// keeps the frontend from applying the source's ignore file a second time.
func dockerfileFS(content []byte) fsutil.FS {
	ignore := []byte("# hermesbox has filtered the context already\n")
	return staticFS{
		newExtra(dockerfileName, 0o644, content),
		newExtra(dockerfileName+".dockerignore", 0o644, ignore),
	}
}

// staticFS offers a few files at the root, in order of their names.
type staticFS []extra

var _ fsutil.FS = staticFS(nil)

// Walk calls fn for each file, or for the one that is named.
func (s staticFS) Walk(ctx context.Context, target string, fn fs.WalkDirFunc) error {
	target = strings.Trim(target, "/")
	for _, file := range s {
		if target != "" && target != file.path {
			continue
		}
		stat := &types.Stat{Path: file.path, Mode: uint32(file.mode), Size: int64(len(file.content)), ModTime: file.modTime}
		if err := visit(ctx, stat, fn); err != nil {
			return err
		}
	}
	return nil
}

// Open gives a file's content.
func (s staticFS) Open(path string) (io.ReadCloser, error) {
	for _, file := range s {
		if file.path == path {
			return io.NopCloser(bytes.NewReader(file.content)), nil
		}
	}
	return nil, fmt.Errorf("opening %q: %w", path, fs.ErrNotExist)
}
