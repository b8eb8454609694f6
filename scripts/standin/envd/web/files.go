package web

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/account"
)

const expiration = "signature_expiration"

// failure is an error with the HTTP status it is answered with.
type failure struct {
	code int
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

func fail(code int, format string, args ...any) error {
	return failure{code, fmt.Errorf(format, args...)}
}

func answerError(w http.ResponseWriter, err error) {
	f := failure{http.StatusInternalServerError, err}
	errors.As(err, &f)
	jsonError(w, f.code, f.err)
}

// parameters checks those of a /files request that have a form or prove something.
func (s *Server) parameters(w http.ResponseWriter, r *http.Request, operation string) (url.Values, bool) {
	q := r.URL.Query()
	if q.Has(expiration) {
		if _, err := strconv.ParseInt(q.Get(expiration), 10, 64); err != nil {
			http.Error(w, fmt.Sprintf("Invalid format for parameter %s: error binding string parameter: %v", expiration, err), http.StatusBadRequest)
			return nil, false
		}
	}
	if err := s.signed(r, q, operation); err != nil {
		jsonError(w, http.StatusUnauthorized, err)
		return nil, false
	}
	return q, true
}

// user is the one that a request names, else the default one; Basic credentials do not count here.
func (s *Server) user(name string, named bool) (*user.User, error) {
	if !named {
		name = s.settings.User()
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fail(http.StatusUnauthorized, "error looking up user '%s': %w", name, err)
	}
	return u, nil
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	q, ok := s.parameters(w, r, "read")
	if !ok {
		return
	}
	if err := s.serve(w, r, q); err != nil {
		answerError(w, err)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, q url.Values) error {
	u, err := s.user(q.Get("username"), q.Has("username"))
	if err != nil {
		return err
	}
	path, err := account.Resolve(q.Get("path"), u, s.settings.Workdir())
	if err != nil {
		return fail(http.StatusBadRequest, "error expanding and resolving path '%s': %w", q.Get("path"), err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(http.StatusNotFound, "path '%s' does not exist", path)
	case err != nil:
		return fail(http.StatusInternalServerError, "error checking if path exists '%s': %w", path, err)
	case info.IsDir():
		return fail(http.StatusBadRequest, "path '%s' is a directory", path)
	case !info.Mode().IsRegular():
		// Opening a fifo would wait for a writer, for ever.
		return fail(http.StatusBadRequest, "path '%s' is not a regular file", path)
	}
	compress, err := wantsGzip(r.Header)
	if err != nil {
		return fail(http.StatusNotAcceptable, "error parsing Accept-Encoding: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return fail(http.StatusInternalServerError, "error opening file '%s': %w", path, err)
	}
	defer file.Close() //nolint:errcheck // only read
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": filepath.Base(path)}))
	if compress {
		serveGzip(w, path, file)
		return nil
	}
	http.ServeContent(w, r, path, info.ModTime(), file)
	return nil
}
