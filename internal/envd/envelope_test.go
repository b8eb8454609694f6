package envd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// framed puts payloads into frames; one that begins with "end " is the last.
func framed(payloads ...string) string {
	var out strings.Builder
	for _, p := range payloads {
		text, end := strings.CutPrefix(p, "end ")
		b, _ := envelope(json.RawMessage(text))
		if end {
			b[0] = endStream
		}
		out.Write(b)
	}
	return out.String()
}

// TestEnvelope has the bytes of a recorded start.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	got, err := envelope(json.RawMessage(`{"a":1}`))
	if diff := cmp.Diff([]byte("\x00\x00\x00\x00\x07{\"a\":1}"), got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := envelope(func() {}); err == nil {
		t.Error("a function is a message")
	}
}

func TestReadFrame(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, in string
		want     frame
		err      string
	}{
		{"data", framed(`{}`), frame{payload: []byte("{}")}, ""},
		{"end", framed(`end {}`), frame{end: true, payload: []byte("{}")}, ""},
		{"empty", "\x00\x00\x00\x00\x00", frame{}, ""},
		{"nothing", "", frame{}, "EOF"},
		{"half a head", "\x00\x00", frame{}, "unexpected EOF"},
		{"half a payload", "\x00\x00\x00\x00\x05{", frame{}, "unexpected EOF"},
		{"no payload", "\x00\x00\x00\x00\x05", frame{}, "unexpected EOF"},
		{"compressed", "\x01\x00\x00\x00\x01x", frame{}, "flags 0x01"},
		{"a lie", "\x00\xff\xff\xff\xff", frame{}, "claims 4294967295 bytes"},
		{"unframed", `{"code":"x"}`, frame{end: true, payload: []byte(`{"error":{"code":"x"}}`)}, ""},
		{"unframed and broken", `{"code"`, frame{}, "not framed"},
	} {
		got, err := readFrame(strings.NewReader(test.in))
		if test.err == "" && (err != nil || cmp.Diff(string(test.want.payload), string(got.payload)) != "" || got.end != test.want.end) {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
		if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.err)
		}
	}
}

// answering is a client of a server that gives one answer to everything.
func answering(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := New(Direct(s.Listener.Addr().String()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const started = `{"event":{"start":{"pid":5}}}`

// TestStreams are what services and broken networks may send.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stream string
		want         Exit
		out, err     string
		kind         error
	}{
		{"random spaces", framed(`{ "event" : { "start":{"pid": 5} } }`, `{"event":{"data":{"stdout":"aGkK"}}}`, `{"event":{"end":{"exited":true,"status":"exit status 0"}}}`, "end {}"), Exit{}, "hi\n", "", nil},
		{"code", framed(started, `{"event":{"end":{"exitCode":127,"exited":true,"status":"exit status 127"}}}`), Exit{Code: 127}, "", "", nil},
		{"code in snake case", framed(started, `{"event":{"end":{"exit_code":3,"exited":true}}}`), Exit{Code: 3}, "", "", nil},
		{"code in the text", framed(started, `{"event":{"end":{"exited":true,"status":"exit status 4"}}}`), Exit{Code: 4}, "", "", nil},
		{"neither", framed(started, `{"event":{"end":{"exited":true}}}`), Exit{}, "", "", nil},
		{"a signal", framed(started, `{"event":{"end":{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}}}`), Exit{-1, "killed"}, "", "", nil},
		{"nothing known", framed(started, `{"event":{"end":{}}}`), Exit{-1, "unknown"}, "", "", nil},
		{"keepalives and unknown events", framed(started, `{"event":{"keepalive":{}}}`, `{"event":{"news":1}}`, `{}`, `{"event":{"end":{"exited":true}}}`), Exit{}, "", "", nil},
		{"terminal", framed(started, `{"event":{"data":{"pty":"aGkK"}}}`, `{"event":{"end":{"exited":true}}}`), Exit{}, "hi\n", "", nil},
		{"no end event", framed(started, "end {}"), Exit{}, "", "/process.Process/Start: the stream ended before the command did", ErrCut},
		{"cut", framed(started), Exit{}, "", "the stream ended before the command did", ErrCut},
		{"cut in a frame", framed(started) + "\x00\x00", Exit{}, "", "the stream ended before the command did", ErrCut},
		{"deadline", framed(started, `end {"error":{"code":"deadline_exceeded","message":"late"}}`), Exit{}, "", "deadline_exceeded: late", nil},
		{"not started", framed(`end {"error":{"code":"invalid_argument","message":"cwd '/x' does not exist"}}`), Exit{}, "", "Start: invalid_argument: cwd '/x' does not exist", nil},
		{"no start", framed(`{"event":{"data":{}}}`), Exit{}, "", "does not begin with a start event", ErrCut},
		{"a bad event", framed(started, `{"event":5}`), Exit{}, "", "reading an event", ErrCut},
		{"a bad end", framed(started, `end 5`), Exit{}, "", "reading the end frame", ErrCut},
		{"unframed error", `{"code":"not_found","message":"no"}`, Exit{}, "", "not_found: no", ErrNotFound},
		{"a web page", "<html>", Exit{}, "", "flags 0x3c", ErrCut},
		{"empty", "", Exit{}, "", "the stream ended before the command did", ErrCut},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, test.stream) //nolint:errcheck // the client then fails
			})
			var out bytes.Buffer
			got, err := c.Run(t.Context(), Command{Path: "x"}, nil, Output{Stdout: &out})
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if test.kind != nil && !errors.Is(err, test.kind) {
				t.Errorf("%v is not %v", err, test.kind)
			}
			if got != test.want || out.String() != test.out {
				t.Errorf("%v, %q", got, out.String())
			}
		})
	}
}

// TestSilence: a stream without a sign of life is given up.
func TestSilence(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Keepalive-Ping-Interval"); got != "50" {
			t.Errorf("the interval is %q", got)
		}
		io.WriteString(w, framed(started)) //nolint:errcheck // the client then fails
		w.(http.Flusher).Flush()
		<-release
	})
	t.Cleanup(func() { close(release) })
	c.silence = 50 * time.Millisecond
	_, err := c.Run(t.Context(), Command{Path: "x"}, nil, Output{})
	if !errors.Is(err, ErrCut) || !strings.Contains(err.Error(), "no sign of life for 50ms") {
		t.Errorf("error %v", err)
	}
}

// TestDialled: a proxy of the environment does not come between a given way.
func TestDialled(t *testing.T) {
	t.Parallel()
	if p := transport(Target{URL: "http://x", Dial: "10.0.0.5:80"}, Options{}).Proxy; p != nil {
		t.Error("there is a proxy")
	}
	if p := transport(Direct("x"), Options{}).Proxy; p == nil {
		t.Error("the environment is not asked")
	}
}

func TestUploadAnswers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"[]":                          "the service wrote 0 files",
		`[{"path":"a"},{"path":"b"}]`: "the service wrote 2 files",
		"hello":                       "not the JSON expected",
	} {
		c := answering(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }) //nolint:errcheck // the client then fails
		if err := c.Write(t.Context(), "/x", strings.NewReader("")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// FuzzReadFrame: frames of any bytes are read or refused, and what is read is
// no longer than what came.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte(framed(started, "end {}")))
	f.Add([]byte(`{"code":"not_found"}`))
	f.Add([]byte("\x00\xff\xff\xff\xff{"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		for {
			got, err := readFrame(r)
			if err != nil {
				return
			}
			if len(got.payload) > len(in)+len(`{"error":}`) {
				t.Fatalf("%d bytes out of %d", len(got.payload), len(in))
			}
			if got.end {
				return
			}
		}
	})
}

// FuzzErrors: no error body makes an error that is more than a line.
func FuzzErrors(f *testing.F) {
	f.Add([]byte(`{"code":"not_found","message":"x"}`), 404)
	f.Add([]byte(`{"code":404,"message":"x"}`), 404)
	f.Add([]byte(`{"error":null}`), 502)
	f.Add([]byte("<html>\x1b[31m"), 500)
	c, err := New(Direct("127.0.0.1:1"), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		e := c.failure(&http.Response{StatusCode: status, Header: http.Header{}}, parse(body, status))
		if text := e.Error(); strings.ContainsAny(text, "\n\x1b") || len(text) > 2*messageLimit+200 {
			t.Errorf("%q", text)
		}
	})
}
