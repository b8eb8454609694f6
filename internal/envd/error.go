package envd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hermesbox/hermesbox/internal/cube/retry"
)

// What callers branch on, with errors.Is.
var (
	// ErrNotFound: no such file or process.
	ErrNotFound = errors.New("not found")
	// ErrExists: the directory is there already.
	ErrExists = errors.New("already exists")
	// ErrUnauthenticated: a token is missing or wrong, or no such user.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrReadOnly: the file system does not take writes.
	ErrReadOnly = errors.New("read-only file system")
	// ErrFull: the disk is full; a part of the file may be there.
	ErrFull = errors.New("disk full")
	// ErrNotReady: the proxy is there, the service behind it not yet, or not
	// at this moment.
	ErrNotReady = errors.New("not ready")
	// ErrNoSandbox: the proxy knows no such sandbox, or its port is not exposed.
	ErrNoSandbox = errors.New("no such sandbox")
	// ErrCut: the stream of a command ended before the command. It may still
	// be running.
	ErrCut = errors.New("the stream ended before the command did")
	// ErrAsleep, where a context ended because of it, leaves a command alone
	// that was to be killed then: to reach for it would wake its sandbox.
	ErrAsleep = errors.New("the sandbox does not run")
)

// Error is an answer that is no success, of the service or of a proxy before
// it. It never holds a token.
type Error struct {
	Method string
	// URL has neither user nor query.
	URL string
	// Status is HTTP's. Streams answer errors with 200.
	Status int
	// Code is Connect's, such as not_found; empty where there is none.
	Code string
	// Message is one line of printable text.
	Message string
	// FromProxy: the service itself does not answer so.
	FromProxy bool

	wait time.Duration
}

// messageLimit is the longest message that is kept.
const messageLimit = 2000

// parts are what an error body says.
type parts struct {
	code, message string
	fromProxy     bool
}

// judge turns every answer but a success into an error.
func (c *Client) judge(res *http.Response) error {
	if res.StatusCode/100 == 2 {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil && len(body) == 0 {
		return retry.Lost(fmt.Errorf("reading the answer: %w", err))
	}
	return c.failure(res, parse(body, res.StatusCode))
}

// parse reads an error body. The service writes a word in code for its
// methods and a number for files; the proxy writes error, or a web page.
func parse(body []byte, status int) parts {
	var shape struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
		Error   *string         `json:"error"`
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &shape) != nil {
		page := strings.HasPrefix(text, "<")
		return parts{message: text, fromProxy: page || status/100 == 3 || text == "" && status >= 500}
	}
	if shape.Error != nil {
		return parts{message: *shape.Error, fromProxy: true}
	}
	code, err := strconv.Unquote(string(bytes.TrimSpace(shape.Code)))
	if err != nil {
		code = ""
	}
	return parts{code: code, message: shape.Message}
}

func (c *Client) failure(res *http.Response, p parts) *Error {
	e := &Error{Status: res.StatusCode, Code: printable(p.code), FromProxy: p.fromProxy, wait: retry.After(res.Header)}
	if res.Request != nil {
		e.Method, e.URL = res.Request.Method, shown(res.Request.URL)
	}
	e.Message = printable(c.secrets.String(p.message))
	return e
}

// printable makes one line of what came, which may be anything.
func printable(text string) string {
	if len(text) > messageLimit {
		text = strings.ToValidUTF8(text[:messageLimit], "") + "…"
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
}

func (e *Error) Error() string {
	text := e.Method + " " + e.URL + ": "
	switch {
	case e.Code != "":
		text += e.Code
	default:
		text += "HTTP " + strconv.Itoa(e.Status)
	}
	if e.FromProxy {
		text += " from the proxy"
	}
	if e.Message == "" {
		return text + ": " + http.StatusText(e.Status)
	}
	return text + ": " + e.Message
}

// Temporary tells that the same request may succeed in a moment.
func (e *Error) Temporary() bool {
	return slices.Contains([]int{429, 502, 503, 504}, e.Status) || e.Code == "unavailable"
}

// Refused tells that nothing was done: the proxy did not pass the request on.
func (e *Error) Refused() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable && e.wait > 0
}

// RetryAfter is how long the proxy asks to be left alone; 0 where it does not.
func (e *Error) RetryAfter() time.Duration { return e.wait }

// Is matches the sentinels of this package.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return !e.FromProxy && (e.Code == "not_found" || e.Status == http.StatusNotFound)
	case ErrExists:
		return e.Code == "already_exists"
	case ErrUnauthenticated:
		return e.Code == "unauthenticated" || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden && e.FromProxy
	case ErrReadOnly:
		return strings.Contains(e.Message, "read-only file system")
	case ErrFull:
		return e.Status == http.StatusInsufficientStorage || strings.Contains(e.Message, "no space left on device")
	case ErrNotReady:
		return e.Temporary() && e.Status != http.StatusTooManyRequests
	case ErrNoSandbox:
		return e.FromProxy && (e.Status == http.StatusNotFound || e.Status == http.StatusGone)
	}
	return false
}
