package cube

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hermesbox/hermesbox/internal/cube/retry"
)

// Error is an answer that is no success. It never holds a credential.
type Error struct {
	// Service is CubeAPI or CubeMaster.
	Service string
	Method  string
	// URL has neither user nor query.
	URL string
	// Status is HTTP's. CubeMaster answers errors with 200.
	Status int
	// Code is CubeMaster's ret_code, as CubeAPI passes it on too; 0 where there
	// is none.
	Code int
	// Message is what Cube said, in one line of printable text.
	Message string

	wait    time.Duration
	foreign bool
}

// messageLimit is the longest message that is kept.
const messageLimit = 2000

// failure makes the error of an answer.
func (s *service) failure(res *http.Response, code int, message string) *Error {
	e := &Error{Service: s.name, Status: res.StatusCode, Code: code, wait: retry.After(res.Header)}
	if res.Request != nil {
		e.Method, e.URL = res.Request.Method, origin(res.Request.URL)
	}
	e.Message = printable(s.secrets.String(message))
	return e
}

// strange is failure where the answer cannot be Cube's.
func (s *service) strange(res *http.Response, message string) *Error {
	e := s.failure(res, 0, message)
	e.foreign = true
	return e
}

// printable makes one line of what a server sent, which may be anything.
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
	text := fmt.Sprintf("%s %s: HTTP %d", e.Method, e.URL, e.Status)
	if e.Code != 0 {
		text += fmt.Sprintf(", code %d", e.Code)
	}
	switch {
	case e.Message != "":
		return text + ": " + e.Message
	case e.Status == http.StatusRequestTimeout:
		return text + ": the server gave up on its own request; what it had begun may still be going on"
	case e.Code != 0:
		return text + ": " + codeText(e.Code)
	default:
		return text + ": " + http.StatusText(e.Status)
	}
}

// codeText stands in where CubeMaster gave a code and no words.
func codeText(code int) string {
	switch code {
	case 130400:
		return "bad parameters"
	case 130404, 130406, 130483:
		return "not found"
	case 130408:
		return "the node is unhealthy"
	case 130409:
		return "conflict"
	case 130429, 130592:
		return "too many requests"
	case 130594:
		return "CubeMaster's database failed"
	case 130595, 130596:
		return "the node does not answer"
	case 130597, 130598:
		return "no node can take it"
	default:
		return "Cube gives no reason"
	}
}

// Temporary tells that the same request may succeed in a moment.
func (e *Error) Temporary() bool {
	return slices.Contains([]int{408, 429, 502, 503, 504}, e.Status) || e.limited()
}

// Refused tells that the server did nothing with the request.
func (e *Error) Refused() bool {
	return e.Status == http.StatusTooManyRequests || e.limited() || e.Status == http.StatusServiceUnavailable && e.wait > 0
}

// RetryAfter is how long the server asks to be left alone; 0 where it does not.
func (e *Error) RetryAfter() time.Duration { return e.wait }

// limited tells of CubeMaster's own rate limits.
func (e *Error) limited() bool { return e.Code == 130429 || e.Code == 130592 }

// unreachableError is a request without any answer.
type unreachableError struct {
	text string
	err  error
}

func (e *unreachableError) Error() string { return e.text }
func (e *unreachableError) Unwrap() error { return e.err }

// Is makes it [ErrUnreachable].
func (e *unreachableError) Is(target error) bool { return target == ErrUnreachable }
