package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want options
		err  string
	}{
		{"", options{port: 49983, protocol: newest}, ""},
		{"-isnotfc -port 0 -address 127.0.0.1 -cmd true -protocol 0.5.13", options{isNotFC: true, address: "127.0.0.1", cmd: "true", protocol: oldest}, ""},
		{"x", options{}, `unexpected argument "x"`},
		{"-port 70000", options{}, "port 70000 is none"},
		{"-protocol 1", options{}, `protocol "1" is not spoken here`},
		{"-nosuch", options{}, "not defined: -nosuch"},
	} {
		got, err := parse(strings.Fields(test.args), io.Discard)
		if test.err == "" && (err != nil || got != test.want) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("parse(%q) = %+v, %v", test.args, got, err)
		}
	}
	if _, err := parse([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

// log is a buffer that a test may read while it is written.
type log struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

func TestRun(t *testing.T) {
	t.Parallel()
	var out, errOut log
	if err := run(t.Context(), []string{"--version"}, &out, &errOut, nil); err != nil || !strings.Contains(out.text(), "stand-in") {
		t.Errorf("--version: %q, %v", out.text(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"-port", "0", "-address", "127.0.0.1", "-cmd", "true"}, io.Discard, &errOut, nil)
	}()
	var address string
	for range 200 {
		if _, after, ok := strings.Cut(errOut.text(), "listening on "); ok {
			address = strings.TrimSpace(after)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	resp, err := http.Get("http://" + address + "/health")
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatalf("health: %v, %v", resp, err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-port", port, "-address", "127.0.0.1"}, io.Discard, io.Discard, nil); err == nil || !strings.Contains(err.Error(), "listening: ") {
		t.Errorf("port in use: %v", err)
	}
	// An open stream does not keep it from ending.
	stream := frames(t, "http://"+address+"/filesystem.Filesystem/WatchDir", `{"path":"/"}`)
	defer stream.Close()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("ending: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	if err := run(t.Context(), []string{"x"}, io.Discard, io.Discard, nil); err == nil {
		t.Error("bad arguments: no error")
	}
}

// frames posts one message and returns the body of the answer, its first frame read.
func frames(t *testing.T, url, message string) io.ReadCloser {
	t.Helper()
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/connect+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, head); err != nil {
		t.Fatal(err)
	}
	return resp.Body
}

func TestOldError(t *testing.T) {
	t.Parallel()
	cut := connect.NewError(connect.CodeInternal, errors.New("protocol error: promised 5 bytes in enveloped message, got 2 bytes: unexpected EOF"))
	other := connect.NewError(connect.CodeInternal, errors.New("protocol error: promised something else"))
	plain := errors.New("plain")
	if got := oldError(cut); connect.CodeOf(got) != connect.CodeInvalidArgument || strings.Contains(got.Error(), "EOF") {
		t.Errorf("%v", got)
	}
	for _, err := range []error{other, plain, nil} {
		if got := oldError(err); got != err { //nolint:errorlint // the very same
			t.Errorf("%v became %v", err, got)
		}
	}
}

// FuzzEnvelope sends any bytes as the body of a stream: the answer is whole frames, the last one and
// only the last one an end frame.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		"", "\x00", "\x00\x00\x00\x00\x02{}", "\x00\x00\x00\x00\x14" + `{"process":{"pid":0}}`, "\x01\x00\x00\x00\x02{}", "\x02\x00\x00\x00\x02{}",
		"\x00\xff\xff\xff\xff{}", "\x00\x00\x00\x00\x02{}\x00\x00\x00\x00\x02{}", `{"process":{"pid":1}}`, "\x00\x00\x00\x00\x12" + `{"start":{"process"`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	s := newService(newest, false, func() { f.Error("it died") })
	f.Fuzz(func(t *testing.T, body []byte, input bool) {
		// Neither method starts anything, and no process is there for them.
		method := "Connect"
		if input {
			method = "StreamInput"
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/process.Process/"+method, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/connect+json")
		w := httptest.NewRecorder()
		if aborted(func() { s.ServeHTTP(w, r) }) {
			if !input {
				t.Errorf("Connect closed the connection for %q", body)
			}
			return
		}
		if w.Code != http.StatusOK {
			t.Errorf("status %d for %q", w.Code, body)
		}
		wantFrames(t, w.Body.Bytes())
	})
}

// aborted tells the one panic that is meant from all others.
func aborted(f func()) (yes bool) {
	defer func() {
		r := recover()
		if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			yes = true
		} else if r != nil {
			panic(r)
		}
	}()
	f()
	return false
}

func wantFrames(t *testing.T, body []byte) {
	t.Helper()
	for ended := false; !ended; {
		if len(body) < 5 {
			t.Fatalf("half a frame, or no end frame: %q", body)
		}
		size := int(binary.BigEndian.Uint32(body[1:5]))
		if len(body) < 5+size || !json.Valid(body[5:5+size]) {
			t.Fatalf("a bad frame: %q", body)
		}
		ended = body[0]&2 != 0
		body = body[5+size:]
		if ended && len(body) > 0 {
			t.Fatalf("%q behind the end frame", body)
		}
	}
}
