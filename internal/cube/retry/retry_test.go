package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/cube/retry"
)

// failure is an error with the answers under test.
type failure struct {
	temporary, refused bool
	after              time.Duration
}

func (f *failure) Error() string             { return fmt.Sprintf("%+v", *f) }
func (f *failure) Temporary() bool           { return f.temporary }
func (f *failure) Refused() bool             { return f.refused }
func (f *failure) RetryAfter() time.Duration { return f.after }

// script answers each request with the next of its errors, then succeeds.
type script struct {
	errs   []error
	at     []time.Duration // when each request came
	bodies []string
	start  time.Time
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Since(s.start))
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, string(body))
	}
	if n := len(s.at) - 1; n < len(s.errs) {
		if judged := (*failure)(nil); !errors.As(s.errs[n], &judged) {
			return nil, s.errs[n]
		}
	}
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: req}, nil
}

func (s *script) judge(*http.Response) error {
	if n := len(s.at) - 1; n < len(s.errs) {
		return s.errs[n]
	}
	return nil
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	moment, untouched, final := &failure{temporary: true}, &failure{temporary: true, refused: true}, &failure{}
	wait2 := &failure{temporary: true, refused: true, after: 2 * time.Second}
	refusedDial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	dialTimeout := &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	tests := []struct {
		name   string
		method string
		mark   bool
		limit  time.Duration
		errs   []error
		want   int // requests
		fails  bool
	}{
		{"success", "GET", false, 0, nil, 1, false},
		{"a moment", "GET", false, 0, []error{moment, moment}, 3, false},
		{"for good", "GET", false, 0, []error{final}, 1, true},
		{"four at most", "GET", false, 0, []error{moment, moment, moment, moment, moment}, 4, true},
		{"post is not repeated", "POST", false, 0, []error{moment}, 1, true},
		{"post is repeated where nothing was done", "POST", false, 0, []error{untouched}, 2, false},
		{"marked post", "POST", true, 0, []error{moment}, 2, false},
		{"delete", "DELETE", false, 0, []error{moment}, 2, false},
		{"put", "PUT", false, 0, []error{moment}, 2, false},
		{"patch", "PATCH", false, 0, []error{moment}, 1, true},
		{"as long as asked", "POST", false, 0, []error{wait2}, 2, false},
		{"asked for too long", "GET", false, 0, []error{&failure{temporary: true, after: time.Minute}}, 1, true},
		{"deadline before the next", "GET", false, time.Second, []error{wait2}, 1, true},
		{"connection cut", "GET", false, 0, []error{io.EOF, syscall.ECONNRESET}, 3, false},
		{"connection cut under a post", "POST", false, 0, []error{io.ErrUnexpectedEOF}, 1, true},
		{"nobody listens", "GET", false, 0, []error{refusedDial}, 1, true},
		{"nobody there", "GET", false, 0, []error{dialTimeout}, 1, true},
		{"another error", "GET", false, 0, []error{errors.New("x509")}, 1, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{errs: test.errs, start: time.Now()}
				ctx := t.Context()
				if test.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.limit)
					defer cancel()
				}
				req, err := http.NewRequestWithContext(ctx, test.method, "http://x", strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				if test.mark {
					retry.MarkIdempotent(req)
				}
				res, err := (&retry.Transport{Next: s, Judge: s.judge}).RoundTrip(req)
				if (err != nil) != test.fails || (res == nil) != test.fails {
					t.Errorf("got %v, %v; fails: %v", res, err, test.fails)
				}
				if len(s.at) != test.want {
					t.Errorf("%d requests, not %d", len(s.at), test.want)
				}
				for _, body := range s.bodies {
					if body != "body" {
						t.Errorf("a request had the body %q", body)
					}
				}
			})
		})
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		moment := &failure{temporary: true}
		s := &script{errs: []error{moment, moment, &failure{temporary: true, after: 7 * time.Second}}, start: time.Now()}
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://x", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&retry.Transport{Next: s, Judge: s.judge}).RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct{ least, most time.Duration }{
			{0, 0},
			{180 * time.Millisecond, 320 * time.Millisecond},
			{360 * time.Millisecond, 640 * time.Millisecond},
			{7 * time.Second, 7 * time.Second},
		} {
			got := s.at[i]
			if i > 0 {
				got -= s.at[i-1]
			}
			if got < want.least || got > want.most {
				t.Errorf("request %d came after %s, not between %s and %s", i, got, want.least, want.most)
			}
		}
	})
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{errs: []error{&failure{temporary: true, after: 20 * time.Second}}, start: time.Now()}
		time.AfterFunc(time.Second, cancel)
		req, err := http.NewRequestWithContext(ctx, "GET", "http://x", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&retry.Transport{Next: s, Judge: s.judge}).RoundTrip(req); err == nil {
			t.Error("no error")
		}
		if d := time.Since(s.start); d != time.Second || len(s.at) != 1 {
			t.Errorf("ended after %s and %d requests", d, len(s.at))
		}
	})
}

func TestBodyThatCannotBeReadAgain(t *testing.T) {
	t.Parallel()
	s := &script{errs: []error{&failure{temporary: true}}}
	req, err := http.NewRequestWithContext(t.Context(), "PUT", "http://x", io.MultiReader(strings.NewReader("body")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&retry.Transport{Next: s, Judge: s.judge}).RoundTrip(req); err == nil || len(s.at) != 1 {
		t.Errorf("%d requests, %v", len(s.at), err)
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"": 0, "2": 2 * time.Second, "0": 0, "-1": 0, "soon": 0, "99999999999999": (1<<31 - 1) * time.Second, "1.5": 0,
			time.Now().Add(time.Minute).UTC().Format(http.TimeFormat):  time.Minute,
			time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat): 0,
		} {
			got := retry.After(http.Header{"Retry-After": {text}})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q: %s", text, diff)
			}
		}
	})
}
