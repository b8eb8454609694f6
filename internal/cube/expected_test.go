package cube

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// expectation is what a recorded answer means, worked out from the recording
// alone.
type expectation struct {
	failed  bool
	status  int
	code    int
	text    string // part of the message
	missing bool
	// other is part of an error that is not an [Error].
	other string
}

var quote = regexp.MustCompile(`error code (-?\d+): `)

// expected reads an answer as cube.md says.
func expected(t *testing.T, api bool, r recorded) expectation {
	t.Helper()
	e := expectation{status: r.Response.Status}
	var body struct {
		Message string `json:"message"`
		Ret     *struct {
			Code int    `json:"ret_code"`
			Msg  string `json:"ret_msg"`
		} `json:"ret"`
	}
	text := r.Response.bytes(t)
	parsed := json.Unmarshal(text, &body) == nil
	if api {
		e.failed, e.text = r.Response.Status >= 300, body.Message
		if !parsed {
			e.text = string(text)
		}
		if m := quote.FindStringSubmatch(e.text); m != nil {
			e.code, _ = strconv.Atoi(m[1])
			e.text = strings.SplitN(e.text, ": ", 2)[1]
		}
	} else {
		switch {
		case body.Ret != nil:
			e.failed, e.code, e.text = body.Ret.Code != 200 && body.Ret.Code != 0, body.Ret.Code, body.Ret.Msg
		default:
			e.failed, e.text = true, "" // no envelope
			if r.Response.Status >= 300 {
				e.text = string(text)
			}
		}
	}
	e.missing = e.code == 130404 || e.status == 404
	return e
}

func (want expectation) check(t *testing.T, err error) {
	t.Helper()
	var e *Error
	switch {
	case !want.failed:
		if err != nil {
			t.Errorf("a success was read as %v", err)
		}
	case want.other != "":
		if err == nil || !strings.Contains(err.Error(), want.other) {
			t.Errorf("%v does not say %q", err, want.other)
		}
	case !errors.As(err, &e):
		t.Errorf("an error was read as %v", err)
	case e.Status != want.status || e.Code != want.code:
		t.Errorf("HTTP %d code %d was read as %d and %d", want.status, want.code, e.Status, e.Code)
	case !strings.Contains(plain(e.Message), plain(want.text)):
		t.Errorf("the message %q was read as %q", want.text, e.Message)
	}
}

// plain is a text without white space and odd characters.
func plain(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

var index = regexp.MustCompile(`\[\d+\]`)

// bare is a path without its indices.
func bare(path string) string { return index.ReplaceAllString(path, "[]") }

// flatten lists the leaves of a JSON value that are not zero. Names lose their
// case and underscores, moments become numbers.
func flatten(v any, path string, out map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			key := strings.ToLower(strings.ReplaceAll(k, "_", ""))
			if path != "" {
				key = "." + key
			}
			flatten(e, path+key, out)
		}
	case []any:
		for i, e := range v {
			flatten(e, fmt.Sprintf("%s[%d]", path, i), out)
		}
	case nil:
	default:
		text := fmt.Sprint(v)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			text = fmt.Sprint(at.UnixNano())
		}
		if text != "" && text != "0" && text != "false" {
			out[path] = text
		}
	}
}
