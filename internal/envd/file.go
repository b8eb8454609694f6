package envd

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strconv"
)

// files is the query of the routes for contents, which know the user by it.
func (c *Client) files(name string) url.Values {
	return url.Values{"path": {name}, "username": {c.options.User}}
}

// Open reads a file. The caller closes it.
func (c *Client) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	req, err := c.request(ctx, http.MethodGet, "/files", c.files(name), http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := c.send(req)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// ReadFile reads a file of at most limit bytes; a longer one is an error.
func (c *Client) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, err := c.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	err = errors.Join(err, r.Close())
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s in the sandbox: %w", name, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("reading %s in the sandbox: it is longer than %d bytes", name, limit)
	}
	return data, nil
}

// Write writes a file and its parents, overwriting. The file then belongs to
// the client's user, whoever had it; its mode stays. It fails on directories
// mounted from the node (the change of owner does): use [Client.Put] there.
func (c *Client) Write(ctx context.Context, name string, r io.Reader) error {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if _, err := w.CreateFormFile("file", path.Base(name)); err != nil {
		return fmt.Errorf("writing %s in the sandbox: %w", name, err)
	}
	head := form.Len()
	if err := w.Close(); err != nil {
		return fmt.Errorf("writing %s in the sandbox: %w", name, err)
	}
	body := io.MultiReader(bytes.NewReader(form.Bytes()[:head]), r, bytes.NewReader(form.Bytes()[head:]))
	return c.upload(ctx, name, w.FormDataContentType(), body)
}

// WriteRaw is Write with less around the bytes, for services since 0.5.7.
func (c *Client) WriteRaw(ctx context.Context, name string, r io.Reader) error {
	return c.upload(ctx, name, "application/octet-stream", io.MultiReader(r))
}

func (c *Client) upload(ctx context.Context, name, contentType string, body io.Reader) error {
	req, err := c.request(ctx, http.MethodPost, "/files", c.files(name), body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	res, err := c.send(req)
	if err != nil {
		return err
	}
	// Fields that the service does not know are ignored with success.
	var written []struct {
		Path string `json:"path"`
	}
	if err := c.readJSON(res, &written); err != nil {
		return err
	}
	if len(written) != 1 {
		return fmt.Errorf("writing %s in the sandbox: the service wrote %d files", name, len(written))
	}
	return nil
}

// putScript writes stdin to $3, gives it the mode $2 and renames it to $1.
const putScript = `set -e
umask 077
mkdir -p -- "$(dirname -- "$1")"
cat >"$3"
chmod "$2" "$3"
mv -f -- "$3" "$1"`

// Put writes a file by a command, in one step and with a mode. Unlike Write it
// works everywhere a command can write. Missing parents become private.
func (c *Client) Put(ctx context.Context, name string, mode uint32, r io.Reader) error {
	part := name + ".part-" + rand.Text()
	var stderr bytes.Buffer
	exit, err := c.Run(ctx, Command{
		Path: "/bin/sh", Args: []string{"-c", putScript, "sh", name, strconv.FormatUint(uint64(mode), 8), part}, KillOnCancel: true,
	}, r, Output{Stderr: &stderr})
	if err == nil && exit.OK() {
		return nil
	}
	// Whatever stopped it, also a context, leaves no part behind if it can.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	_ = c.Remove(last, part)
	if err != nil {
		return fmt.Errorf("writing %s in the sandbox: %w", name, err)
	}
	return fmt.Errorf("writing %s in the sandbox: %s: %s", name, exit, printable(c.secrets.String(stderr.String())))
}
