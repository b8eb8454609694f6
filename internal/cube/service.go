package cube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube/retry"
	"github.com/hermesbox/hermesbox/internal/redact"
)

// answerLimit is the longest answer that is read. A list of 10,000 sandboxes
// has about 8 MB.
const answerLimit = 32 << 20

// How long the routes may take, retries included: what the newest server
// allows itself, and some more. A wait that ends before the server's own would
// leave work behind that nobody knows of.
const (
	quick  = 45 * time.Second
	create = 75 * time.Second
	wake   = 150 * time.Second // pause, resume, connect
	remove = 270 * time.Second // of a template: each node cleans up
)

// service is one of the two programs.
type service struct {
	name    string
	base    *url.URL
	key     string
	timeout time.Duration
	secrets *redact.Redactor
	proxy   func(*http.Request) (*url.URL, error)
	client  *http.Client
}

// newService returns nil where addr is empty.
func newService(name, addr string, o Options, t *http.Transport, secrets *redact.Redactor) (*service, error) {
	if addr == "" {
		return nil, nil //nolint:nilnil // absent is no error
	}
	u, err := base(name, addr)
	if err != nil {
		return nil, err
	}
	s := &service{name: name, base: u, key: o.APIKey, timeout: o.Timeout, secrets: secrets, proxy: t.Proxy}
	s.client = &http.Client{Transport: &retry.Transport{Next: t, Judge: s.judge}}
	return s, nil
}

// call is one request.
type call struct {
	method string
	// path is escaped and begins with a slash.
	path  string
	query url.Values
	// body is sent as JSON; nil sends none.
	body   any
	budget time.Duration
	// idempotent: sending it twice does what sending it once does.
	idempotent bool
	// secrets are values in the body that no error may show. CubeMaster quotes
	// the body that it could not read.
	secrets []string
}

// do sends a call and reads the answer into out, which may be nil.
func (s *service) do(ctx context.Context, name string, k call, out any) error {
	if s == nil {
		return fmt.Errorf("asking %s: %w", name, ErrNotConfigured)
	}
	for _, secret := range k.secrets {
		s.secrets.Add(secret)
	}
	budget := k.budget
	if s.timeout > 0 {
		budget = s.timeout
	}
	limited, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	res, err := s.send(limited, k)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return fmt.Errorf("%s %s: %w", k.method, s.shown(k.path), ctx.Err())
	case limited.Err() != nil:
		return fmt.Errorf("%s %s: no answer within %s: %w", k.method, s.shown(k.path), budget, context.DeadlineExceeded)
	default:
		return err
	}
	defer res.Body.Close() //nolint:errcheck // the body is in memory
	return s.decode(res, out)
}

// send returns a successful answer, its body in memory.
func (s *service) send(ctx context.Context, k call) (*http.Response, error) {
	req, err := s.request(ctx, k)
	if err != nil {
		return nil, err
	}
	res, err := s.client.Do(req)
	var failed *Error
	switch {
	case err == nil:
		return res, nil
	case errors.As(err, &failed):
		return nil, failed
	}
	var in *url.Error
	if errors.As(err, &in) { // its text holds the query
		err = in.Err
	}
	return nil, &unreachableError{text: s.secrets.String(fmt.Sprintf("%s %s%s: %v", k.method, s.shown(k.path), s.through(req), err)), err: err}
}

func (s *service) request(ctx context.Context, k call) (*http.Request, error) {
	var body io.Reader
	if k.body != nil {
		text, err := json.Marshal(k.body)
		if err != nil {
			return nil, fmt.Errorf("writing a request to %s: %w", s.name, err)
		}
		body = bytes.NewReader(text)
	}
	address := strings.TrimSuffix(s.base.String(), "/") + k.path
	if len(k.query) > 0 {
		address += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("writing a request to %s: %w", s.name, err)
	}
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "hermesbox")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
		req.Header.Set("X-API-Key", s.key)
	}
	if k.idempotent {
		retry.MarkIdempotent(req)
	}
	return req, nil
}

// shown is the address of a path as errors print it.
func (s *service) shown(path string) string {
	return strings.TrimSuffix(origin(s.base), "/") + path
}

// through names the HTTP proxy between, since it is the usual suspect.
func (s *service) through(req *http.Request) string {
	u, err := s.proxy(req)
	if err != nil || u == nil {
		return ""
	}
	return " (through the proxy " + origin(u) + ")"
}

// decode reads a successful answer.
func (s *service) decode(res *http.Response, out any) error {
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", s.name, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return s.strange(res, unreadable(body, err))
	}
	return nil
}

// nameless is the error of a successful answer that lacks the id of what was
// asked for. Cube gives none like that.
func (s *service) nameless(k call, what string) error {
	return &Error{
		Service: s.name, Method: k.method, URL: s.shown(k.path), Status: http.StatusOK, Message: "the answer names no " + what, foreign: true,
	}
}

// unreadable says what came instead of JSON.
func unreadable(body []byte, err error) string {
	text := strings.TrimSpace(string(body))
	switch {
	case text == "":
		return "the answer is empty, not JSON"
	case strings.HasPrefix(text, "<"):
		return "the answer is a web page, not JSON: another program listens at this address"
	default:
		return "the answer is not the JSON expected: " + err.Error()
	}
}
