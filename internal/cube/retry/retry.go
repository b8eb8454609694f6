// Package retry repeats HTTP requests that failed for a moment only.
//
// One RoundTripper holds every retry of a client. Whether a failure is one of
// a moment is for the error to say (Temporary), never for a list of statuses
// here. Where a repetition could do something twice, it is made only if the
// error also says that nothing was done (Refused).
//
// It is no general transport: an answer that Judge calls an error is returned
// as that error, not as a response. It does not follow redirects, log, or keep
// any state between requests.
//
// Invariants: no request is repeated after its context ended; no wait goes
// beyond the context's deadline; a body is sent again only from GetBody.
package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"syscall"
	"time"
)

const (
	attempts = 4
	// firstDelay doubles with each attempt.
	firstDelay = 250 * time.Millisecond
	// longestWait is how long a server may ask to be left alone. One that asks
	// for more gets no second request; the error tells the caller.
	longestWait = 30 * time.Second
)

// MarkIdempotent says that req may be sent twice although its method does not
// say so. net/http knows the same mark; it is not sent.
func MarkIdempotent(req *http.Request) { req.Header["Idempotency-Key"] = []string{} }

// Transport is the RoundTripper. Both fields must be set.
type Transport struct {
	Next http.RoundTripper
	// Judge turns an answer into the error that it stands for, nil where it is
	// a success. It may read the body, and then puts a readable one in place.
	Judge func(*http.Response) error
}

// RoundTrip sends req until it succeeds, fails for good, or the attempts or
// the time are used up. The last failure is returned.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	for n := 1; ; n++ {
		res, err := t.once(req, n)
		if err == nil || n == attempts || !repeatable(req, err) {
			return res, err
		}
		if !sleep(req.Context(), delay(err, n)) {
			return nil, err
		}
	}
}

// once sends req for the nth time.
func (t *Transport) once(req *http.Request, n int) (*http.Response, error) {
	if n > 1 && hasBody(req) {
		body, err := req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("reading the body again: %w", err)
		}
		req = req.Clone(req.Context())
		req.Body = body
	}
	res, err := t.Next.RoundTrip(req)
	if err != nil {
		return nil, Lost(err)
	}
	if err := t.Judge(res); err != nil {
		_ = res.Body.Close() // the answer is lost already
		return nil, err
	}
	return res, nil
}

// repeatable tells whether req may be sent again after err.
func repeatable(req *http.Request, err error) bool {
	var moment interface{ Temporary() bool }
	if !errors.As(err, &moment) || !moment.Temporary() {
		return false
	}
	if hasBody(req) && req.GetBody == nil {
		return false
	}
	var untouched interface{ Refused() bool }
	return idempotent(req) || errors.As(err, &untouched) && untouched.Refused()
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return true
	}
	_, marked := req.Header["Idempotency-Key"]
	return marked
}

// delay is what the server asked for, else exponential with some chance.
func delay(err error, n int) time.Duration {
	var asked interface{ RetryAfter() time.Duration }
	if errors.As(err, &asked) && asked.RetryAfter() > 0 {
		return asked.RetryAfter()
	}
	base := firstDelay << (n - 1)
	return base*3/4 + rand.N(base/2)
}

// sleep waits and tells whether there is still time for another request.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); d > longestWait || ok && time.Until(end) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// lostError is a connection that ended before the answer did.
type lostError struct{ error }

func (e *lostError) Temporary() bool { return true }
func (e *lostError) Unwrap() error   { return e.error }

// streamError has the form of net/http's error of a HTTP/2 stream that was
// reset, which makes itself one of these in errors.As.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("stream %d was reset", e.StreamID) }

// lasting is a failure that says Temporary where it is none.
type lasting struct{ error }

func (e *lasting) Temporary() bool { return false }
func (e *lasting) Unwrap() error   { return e.error }

// Lost gives the failure of a connection its answer to Temporary: true where
// it was cut, false where it never came to be. An address where nobody listens
// is a mistake more often than a moment, and waiting would hide it.
func Lost(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return &lasting{err}
	}
	if errors.As(err, new(streamError)) {
		return &lostError{err}
	}
	for _, cut := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, cut) {
			return &lostError{err}
		}
	}
	return err
}
