package envd

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedAnswers is beside the stand-in, whose tests replay the requests.
const recordedAnswers = "../../scripts/standin/envd/testdata/envd.jsonl"

// recorded is what the real service answered once.
type recorded struct {
	Name    string `json:"name"`
	Request struct {
		Method string `json:"method"`
		Path   string `json:"path"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
		Gzipped bool              `json:"bodyGzipped"`
		Closed  bool              `json:"closed"`
		Frames  []recordedFrame   `json:"frames"`
	} `json:"response"`
}

type recordedFrame struct {
	Flags      byte            `json:"flags"`
	JSON       json.RawMessage `json:"json"`
	Compressed any             `json:"compressed"`
}

func readRecorded(t *testing.T) []recorded {
	t.Helper()
	f, err := os.Open(recordedAnswers)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// bytes are those of the answer; false where the recording lacks some, or has
// what is never asked for.
func (r recorded) bytes() ([]byte, bool) {
	if len(r.Response.Frames) == 0 {
		return []byte(r.Response.Body), !r.Response.Gzipped
	}
	var out []byte
	for _, f := range r.Response.Frames {
		if f.JSON == nil || f.Compressed != nil {
			return nil, false
		}
		head := [5]byte{f.Flags}
		binary.BigEndian.PutUint32(head[1:], uint32(len(f.JSON)))
		out = append(append(out, head[:]...), f.JSON...)
	}
	return out, !r.Response.Closed
}

// replayed is a client of a server with this one answer.
func replayed(t *testing.T, r recorded, body []byte) *Client {
	t.Helper()
	return answering(t, func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range r.Response.Headers {
			if name != "content-length" {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(r.Response.Status)
		w.Write(body) //nolint:errcheck // the client then fails
	})
}

// TestRecordedStreams: the streams of both versions of the real service give
// the output, the exit and the errors that are in them.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, r := range readRecorded(t) {
		if r.Request.Path != "/process.Process/Start" && r.Request.Path != "/process.Process/Connect" || len(r.Response.Frames) == 0 {
			continue
		}
		body, ok := r.bytes()
		if !ok {
			seen["left out"]++
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			exit, err := replayed(t, r, body).Run(t.Context(), Command{Path: "x"}, nil, Output{Stdout: &stdout, Stderr: &stderr})
			seen[checkStream(t, r.Response.Frames, exit, err, stdout.String(), stderr.String())]++
		})
	}
	want := map[string]int{"exit": 74, "signal": 9, "error": 33, "cut": 1, "left out": 5}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("streams by their end: %s", diff)
	}
}

// checkStream reads the frames in a second way and compares.
func checkStream(t *testing.T, frames []recordedFrame, exit Exit, err error, stdout, stderr string) string {
	t.Helper()
	var wantOut, wantErr []byte
	var end map[string]any
	for _, f := range frames {
		var m struct {
			Event struct {
				Data struct{ Stdout, Stderr, PTY []byte } `json:"data"`
				End  map[string]any                       `json:"end"`
			} `json:"event"`
			Error *struct{ Code, Message string } `json:"error"`
		}
		if err := json.Unmarshal(f.JSON, &m); err != nil {
			t.Fatal(err)
		}
		wantOut = append(append(wantOut, m.Event.Data.Stdout...), m.Event.Data.PTY...)
		wantErr = append(wantErr, m.Event.Data.Stderr...)
		if m.Event.End != nil {
			end = m.Event.End
		}
		if m.Error != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code != m.Error.Code || e.Message != printable(m.Error.Message) {
				t.Errorf("%v, want %+v", err, m.Error)
			}
			return "error"
		}
	}
	if end == nil {
		if !errors.Is(err, ErrCut) {
			t.Errorf("%v, want that the stream was cut", err)
		}
		return "cut"
	}
	if err != nil || stdout != string(wantOut) || stderr != string(wantErr) {
		t.Errorf("%v, %q and %q, want %q and %q", err, stdout, stderr, wantOut, wantErr)
	}
	if end["exited"] != true {
		if exit.Code != -1 || "signal: "+exit.Signal != end["status"] {
			t.Errorf("%v, want %v", exit, end)
		}
		return "signal"
	}
	code, _ := end["exitCode"].(float64)
	if exit != (Exit{Code: int(code)}) {
		t.Errorf("%v, want %v", exit, end)
	}
	return "exit"
}

// TestRecordedErrors: every answer that is no success becomes an error with
// what it says.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	n := 0
	for _, r := range readRecorded(t) {
		if r.Response.Status < 300 || r.Response.Status == 304 || r.Request.Method == "HEAD" || r.Request.Method == "PRI" {
			continue
		}
		body, ok := r.bytes()
		if !ok {
			continue
		}
		n++
		t.Run(r.Name, func(t *testing.T) {
			c := replayed(t, r, body)
			req, err := c.request(t.Context(), http.MethodPost, "/x", nil, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.send(req)
			var e *Error
			if !errors.As(err, &e) || e.Status != r.Response.Status || e.FromProxy {
				t.Fatalf("%+v, want HTTP %d", err, r.Response.Status)
			}
			var shape struct {
				Code    any    `json:"code"`
				Message string `json:"message"`
			}
			want := string(body)
			if json.Unmarshal(body, &shape) == nil {
				want = shape.Message
			}
			code, _ := shape.Code.(string)
			if e.Code != code || e.Message != printable(want) {
				t.Errorf("code %q and %q, want %q and %q", e.Code, e.Message, code, want)
			}
			if missing := code == "not_found" || r.Response.Status == 404; errors.Is(e, ErrNotFound) != missing {
				t.Errorf("%v is missing: %v", e, !missing)
			}
		})
	}
	if n != 125 {
		t.Errorf("%d errors were read", n)
	}
}

// TestRecordedEntries: what Stat says of files of every kind.
func TestRecordedEntries(t *testing.T) {
	t.Parallel()
	n := 0
	for _, r := range readRecorded(t) {
		if r.Request.Path != "/filesystem.Filesystem/Stat" || r.Response.Status != 200 {
			continue
		}
		body, ok := r.bytes()
		if !ok {
			continue
		}
		n++
		t.Run(r.Name, func(t *testing.T) {
			got, err := replayed(t, r, body).Stat(t.Context(), "x")
			var want struct {
				Entry struct {
					Name, Type, Path, Permissions, Owner, Group, SymlinkTarget string
					Mode                                                       uint32
					Size                                                       int64 `json:"size,string"`
				} `json:"entry"`
			}
			if jsonErr := json.Unmarshal(body, &want); jsonErr != nil || err != nil {
				t.Fatal(jsonErr, err)
			}
			w := want.Entry
			kind := strings.ToLower(strings.TrimPrefix(w.Type, "FILE_TYPE_"))
			if diff := cmp.Diff(Entry{
				Name: w.Name, Path: w.Path, Type: kind, Size: w.Size, Mode: w.Mode, Permissions: w.Permissions,
				Owner: w.Owner, Group: w.Group, LinkTarget: w.SymlinkTarget, ModTime: got.ModTime,
			}, got); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(string(body), "modifiedTime") == got.ModTime.IsZero() {
				t.Errorf("the time is %v", got.ModTime)
			}
		})
	}
	if n < 15 {
		t.Errorf("%d entries were read", n)
	}
}
