package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/account"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/xattr"
)

// written is one file of the answer.
type written struct {
	Metadata map[string]string `json:"metadata,omitempty"`
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Type     string            `json:"type"`
}

// receiver is one upload: what it is told and what it has written.
type receiver struct {
	server   *Server
	user     *user.User
	query    url.Values
	length   int64
	metadata map[string]string
	done     []written
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	q, ok := s.parameters(w, r, "write")
	if !ok {
		return
	}
	done, err := s.receive(r, q)
	if err != nil {
		answerError(w, err)
		return
	}
	data, err := json.Marshal(done)
	if err != nil {
		answerError(w, fmt.Errorf("error marshaling response: %w", err))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(data) // fails only where the client is gone
}

func (s *Server) receive(r *http.Request, q url.Values) ([]written, error) {
	body, err := plainBody(r)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "error decompressing request body: %w", err)
	}
	r.Body = body
	u, err := s.user(q.Get("username"), q.Has("username"))
	if err != nil {
		return nil, err
	}
	up := &receiver{server: s, user: u, query: q, length: r.ContentLength, done: []written{}}
	if !s.Old {
		if up.metadata, err = metadata(r.Header); err != nil {
			return nil, fail(http.StatusBadRequest, "invalid metadata: %w", err)
		}
	}
	kind := r.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(kind) // an unreadable one is of no kind
	switch {
	case media == "application/octet-stream":
		err = up.raw(r.Body)
	case strings.HasPrefix(media, "multipart/"):
		err = up.multipart(r)
	default:
		err = fail(http.StatusBadRequest, "unsupported content type: %s, expected multipart/form-data or application/octet-stream", kind)
	}
	return up.done, err
}

func (up *receiver) raw(body io.Reader) error {
	if !up.query.Has("path") {
		return fail(http.StatusBadRequest, "path query parameter is required for raw body upload")
	}
	path, err := up.resolve(up.query.Get("path"))
	if err != nil {
		return err
	}
	return up.write(path, body)
}

func (up *receiver) multipart(r *http.Request) error {
	form, err := r.MultipartReader()
	if err != nil {
		return fail(http.StatusInternalServerError, "error parsing multipart form: %w", err)
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fail(http.StatusInternalServerError, "error reading form: %w", err)
		}
		err = up.part(part)
		// Takes what is left of the part, so that the connection can be used again.
		_ = part.Close()
		if err != nil {
			return err
		}
	}
}

// part writes one field; only those called "file" count.
func (up *receiver) part(part *multipart.Part) error {
	if part.FormName() != "file" {
		return nil
	}
	name := up.query.Get("path")
	if !up.query.Has("path") {
		name = fileName(part)
	}
	path, err := up.resolve(name)
	if err != nil {
		return err
	}
	for _, earlier := range up.done {
		if earlier.Path == path {
			return fail(http.StatusBadRequest, "you cannot upload multiple files to the same path '%s' in one upload request, only the first specified file was uploaded", path)
		}
	}
	return up.write(path, part)
}

// fileName keeps the directories, which multipart.Part.FileName drops.
func fileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}

func (up *receiver) resolve(path string) (string, error) {
	path, err := account.Resolve(path, up.user, up.server.settings.Workdir())
	if err != nil {
		return "", fail(http.StatusBadRequest, "error resolving path: %w", err)
	}
	return path, nil
}

// write stores one file. A file that exists keeps its mode and gets the user as its owner before it is
// opened; what was written of one that fails stays.
func (up *receiver) write(path string, body io.Reader) error {
	uid, gid, err := account.IDs(up.user)
	if err != nil {
		return fmt.Errorf("error getting user ids: %w", err)
	}
	if err := account.MakeDirs(filepath.Dir(path), uid, gid); err != nil {
		return fmt.Errorf("error ensuring directories: %w", err)
	}
	file, err := openOwned(path, uid, gid)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, body)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return up.writeError(err)
	}
	if err := xattr.Write(path, up.metadata); err != nil {
		return fmt.Errorf("error writing metadata: %w", err)
	}
	up.done = append(up.done, written{up.metadata, filepath.Base(path), path, "file"})
	return nil
}

func openOwned(path string, uid, gid int) (*os.File, error) {
	info, err := os.Stat(path)
	existed := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("error getting file info: %w", err)
	}
	if existed && info.IsDir() {
		return nil, fail(http.StatusBadRequest, "path is a directory: %s", path)
	}
	if existed {
		if err := os.Chown(path, uid, gid); err != nil {
			return nil, fmt.Errorf("error changing file ownership: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if errors.Is(err, syscall.ENOSPC) {
		return nil, fail(http.StatusInsufficientStorage, "not enough inodes available: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("error opening file: %w", err)
	}
	if existed {
		return file, nil
	}
	if err := os.Chown(path, uid, gid); err != nil {
		_ = file.Close() // empty
		return nil, fmt.Errorf("error changing file ownership: %w", err)
	}
	return file, nil
}

var errFull = errors.New("not enough disk space available")

func (up *receiver) writeError(err error) error {
	switch full := errors.Is(err, syscall.ENOSPC); {
	case full && up.length > 0:
		return fail(http.StatusInsufficientStorage, "attempted to write %d bytes: %w", up.length, errFull)
	case full:
		return failure{http.StatusInsufficientStorage, errFull}
	}
	return fmt.Errorf("error writing file: %w", err)
}
