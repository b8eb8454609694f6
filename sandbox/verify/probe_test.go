package verify

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
)

func TestUnframe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out, want string
		bad       bool
	}{
		"whole":              {out: "m 2\n{}\nm end\n", want: "{}"},
		"empty":              {out: "m 0\n\nm end\n"},
		"nothing":            {bad: true},
		"another mark":       {out: "n 2\n{}\nn end\n", bad: true},
		"something before":   {out: "hello\nm 2\n{}\nm end\n", bad: true},
		"something after":    {out: "m 2\n{}\nm end\nm 2\n{}\nm end\n", bad: true},
		"cut":                {out: "m 20\n{}\n", bad: true},
		"no end":             {out: "m 2\n{}\n", bad: true},
		"a negative length":  {out: "m -1\n{}\nm end\n", bad: true},
		"a length that lies": {out: "m 1\n{}\nm end\n", bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := unframe([]byte(c.out), "m")
			if c.bad != errors.Is(err, answer.Err) || string(got) != c.want {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// FuzzUnframe: only what begins with the mark and ends with it is an answer.
func FuzzUnframe(f *testing.F) {
	f.Add([]byte("m 2\n{}\nm end\n"))
	f.Add([]byte("m 99999999999999999999\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		body, err := unframe(out, "m")
		if err == nil && (!bytes.HasPrefix(out, []byte("m ")) || !bytes.HasSuffix(out, append(append([]byte("\n"), body...), "\nm end\n"...))) {
			t.Errorf("%q is %q", out, body)
		}
		if err != nil {
			return
		}
		var found facts
		if json.Unmarshal(body, &found) == nil {
			_ = found.read("x", new(string))
		}
	})
}

func TestFactsThatAreMissing(t *testing.T) {
	t.Parallel()
	found := facts{"bad": {Error: "OSError: gone"}, "odd": {Data: json.RawMessage(`"text"`)}}
	var n int
	for name, want := range map[string]string{"none": "has no none", "bad": "gathering bad: OSError: gone", "odd": "cannot unmarshal"} {
		if err := found.read(name, &n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r := unknown(found.read("none", &n)); r.Status != check.Fail || r.Remedy == "" {
		t.Errorf("what is not known is %s", r.Status)
	}
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write([]byte("aa  x\ny\x00bb  z\x00")) // a buffer takes everything
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := sums(base64.StdEncoding.EncodeToString(packed.Bytes()))
	if diff := cmp.Diff(map[string]string{"x\ny": "aa", "z": "bb"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"*", "", base64.StdEncoding.EncodeToString([]byte("no zlib"))} {
		if _, err := sums(bad); !errors.Is(err, answer.Err) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// FuzzUnpack: whatever comes from inside, reading it ends.
func FuzzUnpack(f *testing.F) {
	f.Add("eJxLTAYAATsAxQ==")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = sums(text) })
}

func TestParseMounts(t *testing.T) {
	t.Parallel()
	lines := []string{
		`900 898 0:45 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/x`,
		`904 900 254:0 /srv/homes/a /root/.hermes rw,relatime - ext4 /dev/vda rw`,
		`905 900 254:0 /srv/with\040blank /workspace rw - ext4 /dev/vda rw`,
		`906 900 0:50 / /opt/hermes-common-skills rw - virtiofs skills ro`,
	}
	all, err := parseMounts(lines)
	want := []mount{
		{"/", "/", "0:45", "overlay", false},
		{"/root/.hermes", "/srv/homes/a", "254:0", "ext4", false},
		{"/workspace", "/srv/with blank", "254:0", "ext4", false},
		{"/opt/hermes-common-skills", "/", "0:50", "virtiofs", true},
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(mount{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"", "1 2 3", "904 900 254:0 /a /b rw ext4 x rw", "904 900 254:0 /a /b rw - ext4"} {
		if _, err := parseMounts([]string{bad}); !errors.Is(err, answer.Err) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{"/a", "/a", true}, {"/a", "/a/b", true}, {"/a/b", "/a", true}, {"/a", "/ab", false}, {"/", "/", false}} {
		if nested(c.a, c.b) != c.want {
			t.Errorf("%s and %s nested: %v", c.a, c.b, !c.want)
		}
	}
	if _, problem := judgeMount(mount{point: "/workspace"}, []mount{{point: "/workspace", kind: "tmpfs"}}); !strings.Contains(problem, "is a tmpfs") {
		t.Errorf("a tmpfs: %q", problem)
	}
}

// FuzzMounts: no line of mountinfo makes reading it fail to end.
func FuzzMounts(f *testing.F) {
	f.Add(`904 900 254:0 /a\040b /root/.hermes rw,relatime shared:1 - ext4 /dev/vda rw`)
	f.Fuzz(func(_ *testing.T, line string) { _, _ = parseMounts([]string{line}) })
}

func TestReachedJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		got  reached
		want check.Status
		says string
	}{
		"an answer":      {reached{Address: "10.0.0.7:8000", Status: 200, Type: "application/json"}, check.Pass, "reached"},
		"wants a key":    {reached{Status: 401, Type: "text/html"}, check.Pass, "it wants a key"},
		"forbidden":      {reached{Status: 403}, check.Pass, "it wants a key"},
		"HTML":           {reached{Status: 200, Type: "text/html"}, check.Fail, "HTML"},
		"HTML in secret": {reached{Status: 200, Type: "text/plain", Body: " <!DOCTYPE html>"}, check.Fail, "HTML"},
		"down":           {reached{Status: 503, Type: "application/json"}, check.Fail, "HTTP 503"},
		"another path":   {reached{Status: 404, Type: "application/json", Path: "/v1/models"}, check.Warn, "/v1/models"},
		"redirect":       {reached{Status: 302}, check.Warn, "HTTP 302"},
		"no connection":  {reached{Layer: "connect", Error: "timed out"}, check.Fail, "failed at connect"},
		"no HTTP":        {reached{Layer: "http", Error: "BadStatusLine"}, check.Fail, "failed at http"},
	} {
		got := c.got.judge()
		if got.Status != c.want || !strings.Contains(got.Evidence, c.says) || (got.Status != check.Pass) != (got.Remedy != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	found := map[string]reached{"http://a": {Status: 200}, "http://b": {Layer: "resolve", Error: "x"}}
	both := judgeReached([]string{"http://a", "http://b"}, found)
	if both.Status != check.Fail || !strings.Contains(both.Evidence, "http://a: reached") {
		t.Errorf("%+v", both)
	}
	if r := judgeReached([]string{"http://a", "http://c"}, found); r.Status != check.Fail || !strings.Contains(r.Evidence, "http://c") {
		t.Errorf("one of which nothing is said: %+v", r)
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	before := map[string]string{"n:/d/hermes-homes/default/a": "1", "n:/d/hermes-homes/idle/a": "1", "n:/d/hermes-homes/gone/a": "1", "n:/d/hermes-common-skills/s": "1"}
	after := map[string]string{"n:/d/hermes-homes/default/a": "2", "n:/d/hermes-homes/idle/b": "1", "n:/d/hermes-homes/new/a": "1", "n:/d/hermes-common-skills/t": "1"}
	want := []string{
		"n:/d/hermes-common-skills/s", "n:/d/hermes-common-skills/t", "n:/d/hermes-homes/default/a", "n:/d/hermes-homes/idle/a", "n:/d/hermes-homes/idle/b",
	}
	if diff := cmp.Diff(want, changed(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	got, err := selection([]string{"litter", "source"}, []string{"source"})
	if err != nil || !got["litter"] || got["source"] || got["mounts"] {
		t.Errorf("%v, %v", got, err)
	}
	all, err := selection(nil, []string{"agent-turn"})
	if err != nil || all["agent-turn"] || !all["isolation"] || len(all) != len(List()) {
		t.Errorf("%v, %v", all, err)
	}
	for _, bad := range [][2][]string{{{"nothing"}, nil}, {nil, {"nothing"}}, {{"litter"}, {"litter"}}, {{""}, nil}} {
		if _, err := selection(bad[0], bad[1]); !errors.Is(err, ErrCheck) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestQuestions: each check comes after those that it needs.
func TestQuestions(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, q := range questions() {
		for _, need := range q.needs {
			if !seen[need] {
				t.Errorf("%s needs %s, which does not come before it", q.id, need)
			}
		}
		if seen[q.id] || q.title == "" {
			t.Errorf("%s is there twice, or has no title", q.id)
		}
		seen[q.id] = true
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	disk := func(free int64) state {
		var st state
		if err := json.Unmarshal([]byte(`{"disks":{"/":{"free":99999999999},"/workspace":{"free":0}}}`), &st); err != nil {
			t.Fatal(err)
		}
		room := st.Disks["/workspace"]
		room.Free = free
		st.Disks["/workspace"] = room
		return st
	}
	now := time.Now()
	ends := func(ago time.Duration, code string) state {
		end := [2]string{now.Add(-ago).UTC().Format(time.RFC3339), code}
		return state{Now: float64(now.Unix()), Ends: [][2]string{end, end, end}}
	}
	at := float64(now.Unix())
	for name, c := range map[string]struct {
		got  check.Result
		want check.Status
	}{
		"room":             {disk(1 << 30).disk(), check.Pass},
		"little room":      {disk(100 << 20).disk(), check.Warn},
		"no room":          {disk(0).disk(), check.Fail},
		"nobody knows":     {state{}.disk(), check.Fail},
		"no gateway":       {state{}.gateways(), check.Pass},
		"one gateway":      {state{Gateways: []int{7}}.gateways(), check.Pass},
		"two gateways":     {state{Gateways: []int{7, 8}}.gateways(), check.Fail},
		"crashes":          {ends(time.Minute, "1").crashLoop(), check.Fail},
		"crashes of old":   {ends(time.Hour, "1").crashLoop(), check.Pass},
		"ends as asked":    {ends(time.Minute, "143").crashLoop(), check.Pass},
		"many starts":      {state{Now: at, Starts: []float64{at, at, at, at, at, at}}.crashLoop(), check.Warn},
		"starts of old":    {state{Now: at, Starts: []float64{1, 1, 1, 1, 1, 1}}.crashLoop(), check.Pass},
		"given up":         {state{Ended: new(string)}.crashLoop(), check.Fail},
		"a clock as ours":  {(&subject{asked: now, told: now}).clock(state{Now: float64(now.UnixMilli()) / 1000}), check.Pass},
		"a clock not ours": {(&subject{asked: now, told: now}).clock(state{Now: at - 10}), check.Warn},
	} {
		if c.got.Status != c.want {
			t.Errorf("%s: %s: %s", name, c.got.Status, c.got.Evidence)
		}
	}
}

func TestConfigProblem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a: b": "", "# nothing": "", "- a": "is no mapping", "text": "is no mapping", "a: [sk-secret": "is broken line 1", "a: b\n\tc": "is broken line 2",
	} {
		if got := configProblem([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCountListed(t *testing.T) {
	t.Parallel()
	const table = "┃ Name ┃ Category ┃ Source ┃\n┡━━╇━━╇━━┩\n│ alpha │ │ local │\n│ alpha │ x │ local │\n│ beta  │ │ local │\n1 local — beta\n"
	got := countListed(table)
	if got["alpha"] != 2 || got["beta"] != 1 || got["gamma"] != 0 {
		t.Errorf("%v", got)
	}
}
