package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"
	"golang.org/x/sync/errgroup"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// pipeStream is one end of an in-process transfer, over BuildKit's wire format.
type pipeStream struct {
	ctx     context.Context
	in, out chan []byte
	ended   <-chan struct{} // closed when the other end is done
	content *int64          // counts the bytes of file content received, where set
}

func (s *pipeStream) Context() context.Context { return s.ctx }

func (s *pipeStream) SendMsg(m any) error {
	wire, err := m.(*types.Packet).MarshalVT()
	if err != nil {
		return err
	}
	select {
	case <-s.ctx.Done():
		return s.ctx.Err()
	case s.out <- wire:
		return nil
	}
}

func (s *pipeStream) RecvMsg(m any) error {
	wire, err := s.next()
	if err != nil {
		return err
	}
	packet := m.(*types.Packet)
	*packet = types.Packet{}
	if err := packet.UnmarshalVT(wire); err != nil {
		return err
	}
	if s.content != nil {
		*s.content += int64(len(packet.Data))
	}
	return nil
}

// next is the next message, io.EOF once the other end is done and all was read.
func (s *pipeStream) next() ([]byte, error) {
	select {
	case wire := <-s.in:
		return wire, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case <-s.ended:
	}
	select {
	case wire := <-s.in:
		return wire, nil
	default:
		return nil, io.EOF
	}
}

// transfer sends src into dest through BuildKit's own sender and receiver, and
// returns the bytes of content that were sent.
func transfer(ctx context.Context, tree *buildctx.Tree, extras []extra, dest string) (sent int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	src := newSentFS(tree, extras, cancel)
	group, ctx := errgroup.WithContext(ctx)
	up, down := make(chan []byte, 64), make(chan []byte, 64)
	sendDone, receiveDone := make(chan struct{}), make(chan struct{})
	group.Go(func() error {
		defer close(sendDone)
		return fsutil.Send(ctx, &pipeStream{ctx: ctx, in: down, out: up, ended: receiveDone}, src, nil)
	})
	group.Go(func() error {
		defer close(receiveDone)
		return fsutil.Receive(ctx, &pipeStream{ctx: ctx, in: up, out: down, ended: sendDone, content: &sent}, dest, fsutil.ReceiveOpt{})
	})
	err = group.Wait()
	return sent, errors.Join(src.Err(), err)
}

// loadTree reads a directory; extras are files of .hermesbox/ beside it.
func loadTree(t *testing.T, dir string) *buildctx.Tree {
	t.Helper()
	tree, err := buildctx.Load(t.Context(), dir, buildctx.Options{})
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return tree
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTransferArrivesByteForByte(t *testing.T) {
	t.Parallel()
	src, dest := t.TempDir(), t.TempDir()
	files := map[string]string{
		"a/b": "ab", "a-b": "sorts behind a/b", "a.b": "", "empty": "", "deep/er/est/file": strings.Repeat("x", 200_000), "zz": "last",
	}
	writeFiles(t, src, files)
	if err := os.Symlink("a/b", filepath.Join(src, "link")); err != nil {
		t.Fatal(err)
	}
	extras := []extra{newExtra(manifestPath, 0o644, []byte("manifest\n")), newExtra(extrasDir+"/run", 0o755, []byte("#!/bin/sh\n"))}
	if _, err := transfer(t.Context(), loadTree(t, src), extras, dest); err != nil {
		t.Fatalf("transfer: %v", err)
	}
	files[manifestPath], files[extrasDir+"/run"] = "manifest\n", "#!/bin/sh\n"
	if diff := cmp.Diff(files, readFiles(t, dest)); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	if target, err := os.Readlink(filepath.Join(dest, "link")); err != nil || target != "a/b" {
		t.Errorf("link: %q, %v", target, err)
	}
}

func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir+"/")] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTransferSendsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	src, dest := t.TempDir(), t.TempDir()
	writeFiles(t, src, map[string]string{"one": "1111", "two": "2222"})
	send := func() int64 {
		sent, err := transfer(t.Context(), loadTree(t, src), nil, dest)
		if err != nil {
			t.Fatalf("transfer: %v", err)
		}
		return sent
	}
	send()
	old, err := os.Stat(filepath.Join(src, "one"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(src, "two"), old.ModTime(), old.ModTime().AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	if sent := send(); sent != 0 {
		t.Errorf("a touch sent %d bytes of content, want 0", sent)
	}
	writeFiles(t, src, map[string]string{"one": "1911"})
	if err := os.Chtimes(filepath.Join(src, "one"), old.ModTime(), old.ModTime()); err != nil {
		t.Fatal(err)
	}
	if sent := send(); sent != 4 {
		t.Errorf("an edit that keeps size and time sent %d bytes of content, want 4", sent)
	}
	if got := readFiles(t, dest)["one"]; got != "1911" {
		t.Errorf("the edit arrived as %q", got)
	}
}

// What happens to a file between hashing and sending ends the transfer.
func TestTransferFailsOnChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"vanished": os.Remove,
		"grown":    func(path string) error { return appendTo(path, "more") },
		"shrunk":   func(path string) error { return os.Truncate(path, 2) },
		"replaced": func(path string) error { return os.WriteFile(path, []byte("CONTENT"), 0o644) },
		"a directory": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		},
		"a link": func(path string) error {
			return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := t.TempDir()
			writeFiles(t, src, map[string]string{"first": "1", "victim": "content", "zlast": "2"})
			tree := loadTree(t, src)
			if err := change(filepath.Join(src, "victim")); err != nil {
				t.Fatal(err)
			}
			_, err := transfer(t.Context(), tree, nil, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), "victim") {
				t.Errorf("transfer: %v, want an error that names the file", err)
			}
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// needDisk leaves a test that writes much to runs that ask for it, as make test does.
func needDisk(t *testing.T) {
	t.Helper()
	if !dockertest.Required("disk") {
		t.Skip("writes much; runs where " + dockertest.RequireVar + " has disk")
	}
}

func TestTransferOf100000Files(t *testing.T) {
	t.Parallel()
	needDisk(t)
	src, dest := t.TempDir(), t.TempDir()
	files := map[string]string{}
	for i := range 100_000 {
		dir, name := fmt.Sprintf("d%03d", i%500), fmt.Sprintf("f%05d", i)
		if i < 500 {
			if err := os.Mkdir(filepath.Join(src, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		files[dir+"/"+name] = fmt.Sprint(i)
		if err := os.WriteFile(filepath.Join(src, dir, name), []byte(files[dir+"/"+name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := transfer(t.Context(), loadTree(t, src), nil, dest); err != nil {
		t.Fatalf("transfer: %v", err)
	}
	if diff := cmp.Diff(files, readFiles(t, dest)); diff != "" {
		t.Errorf("received (-want +got):\n%.2000s", diff)
	}
}

func TestTransferOfSparseFile(t *testing.T) {
	t.Parallel()
	needDisk(t)
	const size = 5 << 30
	src, dest := t.TempDir(), t.TempDir()
	file := filepath.Join(src, "sparse")
	writeFiles(t, src, map[string]string{"sparse": "", "beside": "b"})
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	if err := appendTo(file, "end"); err != nil {
		t.Fatal(err)
	}
	tree := loadTree(t, src)
	if _, err := transfer(t.Context(), tree, nil, dest); err != nil {
		t.Fatalf("transfer: %v", err)
	}
	received, err := os.Open(filepath.Join(dest, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer received.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, received)
	if err != nil || n != size+3 {
		t.Fatalf("received %d bytes, %v", n, err)
	}
	for entry := range tree.Entries() {
		if entry.Path == "sparse" && entry.SHA256 != [32]byte(sum.Sum(nil)) {
			t.Error("the received bytes are not those that were hashed")
		}
	}
}

func TestComparePaths(t *testing.T) {
	t.Parallel()
	ordered := []string{"a", "a/b", "a/b/c", "a/bb", "a-b", "a.b", "ab"}
	for i, a := range ordered {
		for j, b := range ordered {
			got := buildctx.ComparePaths(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("ComparePaths(%q, %q) = %d", a, b, got)
			}
		}
	}
}

func TestSendWholeDropsFilters(t *testing.T) {
	t.Parallel()
	opt := &fsutil.FilterOpt{FollowPaths: []string{"a", "b*"}, ExcludePatterns: []string{"x"}, IncludePatterns: []string{"y"}}
	if err := sendWhole("context", opt); err != nil {
		t.Fatal(err)
	}
	if opt.FollowPaths != nil || opt.ExcludePatterns != nil || opt.IncludePatterns != nil {
		t.Errorf("filters left: %+v", opt)
	}
	only := &fsutil.FilterOpt{FollowPaths: []string{ignoreFile}}
	if err := sendWhole("context", only); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{ignoreFile}, only.IncludePatterns); diff != "" {
		t.Errorf("the request for the ignore file (-want +got):\n%s", diff)
	}
}
