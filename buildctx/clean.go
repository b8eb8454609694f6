package buildctx

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// CleanTar copies a tar from r to w without litter members and without the attribute records that macOS's tar adds,
// and keeps everything else of the members: order, names, owners, times, other records. It streams. Look-alikes are
// kept, with a warning. The receipt accounts for what was left out; it has no digest, since no tree was made.
func CleanTar(ctx context.Context, r io.Reader, w io.Writer) (*Receipt, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in, err := openTar(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("cleaning tar: %w", err)
	}
	c := &cleaner{in: in, out: tar.NewWriter(w), buf: make([]byte, readBuffer), gone: map[string]bool{}, reported: map[string]bool{}}
	c.receipt = c.report.receipt()
	if err := c.run(ctx); err != nil {
		return nil, fmt.Errorf("cleaning tar: %w", err)
	}
	return c.finish(), nil
}

type cleaner struct {
	in      *tarInput
	out     *tar.Writer
	report  report
	receipt *Receipt
	attrs   attributes
	buf     []byte

	gone     map[string]bool // members left out, which a hard link must not name
	reported map[string]bool // what the report says is left out
}

func (c *cleaner) run(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := c.in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := c.member(h); err != nil {
			return err
		}
	}
	more, err := c.in.drain()
	if err != nil {
		return err
	}
	if more {
		c.report.warn(Warning{Kind: WarnTrailing, Path: "-", Detail: "holds data behind the end of the tar, which was left out"})
	}
	return c.out.Close()
}

func (c *cleaner) member(h *tar.Header) error {
	p := memberPath(h.Name)
	c.attrs.addTar(p, h.PAXRecords)
	dropRecords(h)
	if h.Typeflag == tar.TypeXGlobalHeader {
		return c.global(h)
	}
	head, err := c.head(h)
	if err != nil {
		return err
	}
	if top := c.litter(h, p, head); top != "" {
		c.leaveOut(h, p, top)
		return nil
	}
	if h.Typeflag == tar.TypeLink && c.gone[memberPath(h.Linkname)] {
		return &PathError{Path: p, Reason: BadLink, Detail: fmt.Sprintf("is a hard link to %q, which is litter", h.Linkname)}
	}
	c.count(h, p)
	return c.copy(h, head)
}

// memberPath is a name as members are compared: without ./ and the like.
func memberPath(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// global keeps a global header as far as it says more than attributes.
func (c *cleaner) global(h *tar.Header) error {
	if len(h.PAXRecords) == 0 {
		return nil
	}
	return c.out.WriteHeader(&tar.Header{Typeflag: h.Typeflag, Name: h.Name, PAXRecords: h.PAXRecords, Format: tar.FormatPAX})
}

// dropRecords removes attributes in all the forms that tar readers make of them.
func dropRecords(h *tar.Header) {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, paxSchily) || strings.HasPrefix(key, paxLibarchive) {
			delete(h.PAXRecords, key)
		}
	}
	h.Xattrs = nil //nolint:staticcheck // the library still fills in this field, and would write it
}

// head reads the beginning of what may be AppleDouble.
func (c *cleaner) head(h *tar.Header) ([]byte, error) {
	if tarKind(h) != File || h.Typeflag == tar.TypeLink || !mayBeAppleDouble(path.Base(h.Name)) {
		return nil, nil
	}
	head := make([]byte, appleSniff)
	n, err := io.ReadFull(c.in, head[:min(h.Size, appleSniff)])
	if err != nil {
		return nil, c.in.wrap(err)
	}
	return head[:n], nil
}

// litter returns the path of the member, or of the directory above it, that is litter; empty where none is.
func (c *cleaner) litter(h *tar.Header, p string, head []byte) string {
	at := 0
	for i, name := range strings.Split(p, "/") {
		at += len(name)
		if isLitterName(name, i == 0) {
			return p[:at]
		}
		at++
	}
	if !mayBeAppleDouble(path.Base(p)) {
		return ""
	}
	if isAppleDouble(head) || h.Typeflag == tar.TypeLink && c.gone[memberPath(h.Linkname)] {
		return p
	}
	c.report.warn(Warning{Kind: WarnLookAlike, Path: p, Detail: "begins with ._ but is no AppleDouble file; kept"})
	return ""
}

// leaveOut reports a litter directory once, whatever is in it and whether or not it has a member of its own.
func (c *cleaner) leaveOut(h *tar.Header, p, top string) {
	c.gone[p] = true
	switch {
	case top == p && !c.reported[p]:
		c.report.exclude(p, &verdict{rule: RuleLitter}, tarKind(h), h.Size)
	case !c.reported[top]:
		c.report.exclude(top, &verdict{rule: RuleLitter}, Dir, 0)
	}
	c.reported[top] = true
}

func (c *cleaner) count(h *tar.Header, p string) {
	switch tarKind(h) {
	case File:
		c.receipt.addFile([]byte(p), h.Size)
	case Dir:
		c.receipt.Dirs++
	case Link:
		c.receipt.Links++
	}
}

func (c *cleaner) copy(h *tar.Header, head []byte) error {
	h.Format = keptFormat(h)
	if h.Typeflag == tar.TypeGNUSparse {
		h.Typeflag = tar.TypeReg
	}
	if slashed(h) {
		name := strings.TrimRight(h.Name, "/")
		if name == "" {
			return &PathError{Path: h.Name, Reason: BadName, Detail: "is no name for a member"}
		}
		c.report.warn(Warning{Kind: WarnName, Path: name, Detail: detailSlash})
		h.Name = name
	}
	if err := c.out.WriteHeader(h); err != nil {
		return fmt.Errorf("writing %q: %w", h.Name, err)
	}
	if _, err := c.out.Write(head); err != nil {
		return fmt.Errorf("writing %q: %w", h.Name, err)
	}
	from := readFunc(func(p []byte) (int, error) {
		n, err := c.in.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			err = c.in.wrap(err)
		}
		return n, err
	})
	if _, err := io.CopyBuffer(struct{ io.Writer }{c.out}, from, c.buf); err != nil {
		return err
	}
	return nil
}

// keptFormat is the format that keeps a member's times: those of access and change, and parts of a second.
func keptFormat(h *tar.Header) tar.Format {
	_, exact := h.PAXRecords["mtime"]
	switch {
	case h.AccessTime.IsZero() && h.ChangeTime.IsZero() && !exact:
		return tar.FormatUnknown
	case h.Format == tar.FormatGNU:
		return tar.FormatGNU
	}
	return tar.FormatPAX
}

const detailSlash = "is no directory, though its name in the tar ends in a slash, which was taken off"

// slashed says that the name of what is no directory ends in a slash, which no writer here could write. Links may.
func slashed(h *tar.Header) bool {
	switch h.Typeflag {
	case tar.TypeDir, tar.TypeLink, tar.TypeSymlink:
		return false
	}
	return strings.HasSuffix(h.Name, "/")
}

// readFunc is a reader without the shortcuts that copying would take.
type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func (c *cleaner) finish() *Receipt {
	c.attrs.report(&c.report)
	lists := c.report.receipt()
	c.receipt.Excluded, c.receipt.Warnings = lists.Excluded, lists.Warnings
	return c.receipt
}

func tarKind(h *tar.Header) Kind {
	switch h.Typeflag {
	case tar.TypeDir:
		return Dir
	case tar.TypeSymlink:
		return Link
	case tar.TypeFifo:
		return fifo
	case tar.TypeChar, tar.TypeBlock:
		return device
	}
	return File
}
