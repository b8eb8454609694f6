package webui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// reply is what the stand-in answered; status 0: nothing did.
type reply struct {
	status  int
	headers http.Header
	body    string
}

func ask(t *testing.T, s *standin, one exchange) reply {
	t.Helper()
	body, _ := one.Request.Body.(string)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, one.Request.Method, s.url(one.Request.Path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range one.Request.Headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := localise(s, string(content))
	if resp.Header.Get("Content-Length") == strconv.Itoa(len(content)) {
		resp.Header.Set("Content-Length", strconv.Itoa(len(text)))
	}
	return reply{resp.StatusCode, resp.Header, text}
}

// differing names the parts of an answer that differ: status, body, or a header.
func differing(one exchange, got reply) []string {
	if got.status != one.Response.Status {
		return []string{"status"}
	}
	var parts []string
	want, _ := one.Response.Body.(string)
	if !sameBody(one, want, got.body) {
		parts = append(parts, "body")
	}
	for name, value := range one.Response.Headers {
		if skipHeader(one, name, want) || slices.Contains(one.Varies, "headers") {
			continue
		}
		if got.headers.Get(name) != value {
			parts = append(parts, name)
		}
	}
	sort.Strings(parts)
	return parts
}

// skipHeader: of the connection, of the file's date, of the transfer; and the length of a body that varies or that the
// recording has cut.
func skipHeader(one exchange, name, body string) bool {
	switch name {
	case "connection", "transfer-encoding", "last-modified":
		return true
	case "content-length":
		return !isPage(body) && (len(one.Varies) > 0 || cut(body))
	}
	return false
}

func isPage(body string) bool { return body == "" || strings.HasPrefix(body, "<!doctype") }

// cut tells a body that the recording holds in part.
func cut(body string) bool { return strings.Contains(body, "…") }

func sameBody(one exchange, want, got string) bool {
	switch {
	case slices.Contains(one.Varies, "body") && !isPage(want):
		return shapes(want).subsetOf(shapes(got))
	case strings.HasPrefix(want, "data: "):
		return stable(want) == stable(got)
	case cut(want):
		kept, _, _ := strings.Cut(want, "…")
		return strings.HasPrefix(got, strings.TrimRight(kept, ", "))
	case json.Valid([]byte(want)):
		return sameJSON(one, want, got)
	}
	return want == got
}

var ids = regexp.MustCompile(`"(id|created)": ?("[^"]*"|\d+)`)

// stable takes ids and times out of an event stream.
func stable(stream string) string { return ids.ReplaceAllString(stream, `"$1": 0`) }

// sameJSON compares all but what no two runs have in common.
func sameJSON(one exchange, want, got string) bool {
	var w, g any
	if json.Unmarshal([]byte(want), &w) != nil || json.Unmarshal([]byte(got), &g) != nil {
		return false
	}
	own := []string{"created"}
	for _, name := range []string{"pid", "id"} {
		if slices.Contains(one.Varies, name) {
			own = append(own, name)
		}
	}
	drop(w, own)
	drop(g, own)
	return reflect.DeepEqual(w, g)
}

// drop removes fields wherever they are.
func drop(value any, names []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if slices.Contains(names, name) {
				delete(v, name)
			}
			drop(inner, names)
		}
	case []any:
		for _, inner := range v {
			drop(inner, names)
		}
	}
}

// shape is the set of a JSON text's paths, each with its type; list indices do not count.
type shape map[string]bool

// shapes reads as far as the text goes: a recording may be cut.
func shapes(text string) shape {
	found := shape{}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	_ = walk(dec, "", found) // a cut text ends it
	return found
}

func (want shape) subsetOf(got shape) bool {
	for path := range want {
		if !got[path] {
			return false
		}
	}
	return len(want) > 0
}

func walk(dec *json.Decoder, path string, found shape) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	found[path+":"+reflect.TypeOf(token).String()] = token != nil
	delim, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	for dec.More() {
		inner := path + "[]"
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			inner = path + "." + key.(string)
		}
		if err := walk(dec, inner, found); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// TestCompare: the judge itself sees differences.
func TestCompare(t *testing.T) {
	t.Parallel()
	var one exchange
	one.Response.Status = 200
	one.Response.Headers = map[string]string{"vary": "Origin", "content-length": "7"}
	one.Response.Body = `{"a":1}`
	right := reply{200, http.Header{"Vary": {"Origin"}, "Content-Length": {"7"}}, `{"a":1}`}
	tests := map[string]struct {
		change func(*exchange, *reply)
		want   []string
	}{
		"same":         {func(*exchange, *reply) {}, nil},
		"status":       {func(_ *exchange, r *reply) { r.status = 404 }, []string{"status"}},
		"no answer":    {func(_ *exchange, r *reply) { *r = reply{} }, []string{"status"}},
		"value":        {func(_ *exchange, r *reply) { r.body = `{"a":2}` }, []string{"body"}},
		"more":         {func(_ *exchange, r *reply) { r.body = `{"a":1,"b":1}` }, []string{"body"}},
		"header":       {func(_ *exchange, r *reply) { r.headers = http.Header{"Content-Length": {"7"}} }, []string{"vary"}},
		"length":       {func(_ *exchange, r *reply) { r.headers = http.Header{"Vary": {"Origin"}} }, []string{"content-length"}},
		"shape":        {func(e *exchange, r *reply) { e.Varies = []string{"body"}; r.body = `{"a":2}` }, nil},
		"other shape":  {func(e *exchange, r *reply) { e.Varies = []string{"body"}; r.body = `{"a":"2"}` }, []string{"body"}},
		"cut":          {func(e *exchange, r *reply) { e.Response.Body = `{"a":1,…` }, nil},
		"cut, differs": {func(e *exchange, r *reply) { e.Response.Body = `{"a":2,…` }, []string{"body"}},
	}
	for name, tt := range tests {
		e, r := one, right
		tt.change(&e, &r)
		if got := differing(e, r); !slices.Equal(got, tt.want) {
			t.Errorf("%s: differing = %v, want %v", name, got, tt.want)
		}
	}
	if err := walk(json.NewDecoder(strings.NewReader(`{"a`)), "", shape{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut text ends the walk with %v, want %v", err, io.ErrUnexpectedEOF)
	}
}
