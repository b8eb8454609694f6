package verify

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/sandbox"
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
		`907 900 0:51 / /mnt rw - tmpfs  rw`,
	}
	all, err := parseMounts(lines)
	want := []mount{
		{"900", "/", "/", "0:45", "overlay", false},
		{"904", "/root/.hermes", "/srv/homes/a", "254:0", "ext4", false},
		{"905", "/workspace", "/srv/with blank", "254:0", "ext4", false},
		{"906", "/opt/hermes-common-skills", "/", "0:50", "virtiofs", true},
		{"907", "/mnt", "/", "0:51", "tmpfs", false},
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
}

func TestJudgeMount(t *testing.T) {
	t.Parallel()
	want := mount{id: "5", point: "/workspace"}
	for name, c := range map[string]struct {
		all    []mount
		proven bool
		says   string
	}{
		"a directory":         {[]mount{{id: "5", point: "/workspace", kind: "ext4"}}, false, ""},
		"nothing":             {[]mount{{id: "5", point: "/", kind: "ext4"}}, false, "nothing is mounted at /workspace"},
		"below something":     {[]mount{{id: "4", point: "/workspace", kind: "ext4"}, {id: "5", point: "/", kind: "tmpfs"}}, false, "or something over it"},
		"a tmpfs":             {[]mount{{id: "5", point: "/workspace", kind: "tmpfs"}}, false, "is a tmpfs"},
		"the node's memory":   {[]mount{{id: "5", point: "/workspace", kind: "tmpfs"}}, true, ""},
		"the node's layers":   {[]mount{{id: "5", point: "/workspace", kind: "overlay"}}, true, ""},
		"no place for files":  {[]mount{{id: "5", point: "/workspace", kind: "proc"}}, true, "is a proc"},
		"a mount inside":      {[]mount{{id: "5", point: "/workspace", kind: "ext4"}, {id: "6", point: "/workspace/a", kind: "ext4"}}, true, "hides what is there"},
		"one beside":          {[]mount{{id: "5", point: "/workspace", kind: "ext4"}, {id: "6", point: "/workspaces", kind: "ext4"}}, true, ""},
		"not to be written":   {[]mount{{id: "5", point: "/workspace", kind: "ext4", readOnly: true}}, true, "mounted read-only, not read-write"},
		"one below the other": {[]mount{{id: "4", point: "/workspace", kind: "tmpfs"}, {id: "5", point: "/workspace", kind: "ext4"}}, false, ""},
	} {
		if _, problem := judgeMount(want, c.all, c.proven); (problem == "") != (c.says == "") || !strings.Contains(problem, c.says) {
			t.Errorf("%s: %q", name, problem)
		}
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

// TestSurveyed: a name in a home cannot pass for an entry of another.
func TestSurveyed(t *testing.T) {
	t.Parallel()
	const out = "m dir /d/hermes-homes/default\ndirectory 700 /d/hermes-homes/default\nfile 644 1 /d/hermes-homes/default/SOUL.md\n" +
		"m left 12 verify-aaaaaaaaaaaaaaaa\nm left x verify-bbbbbbbbbbbbbbbb\n" +
		"m dir /d/hermes-homes/mine\nfile 600 2 /d/hermes-homes/mine/a\nfile 644 7 /d/hermes-homes/default/SOUL.md\nfile 600 3 /d/hermes-homes/mine/a\n"
	got := surveyed{entries: map[string]string{}}
	got.read("n", "m", out)
	want := surveyed{
		map[string]string{
			"n:/d/hermes-homes/default": "directory 700 \n", "n:/d/hermes-homes/default/SOUL.md": "file 644 1 \n",
			"n:/d/hermes-homes/mine/a": "file 600 2 \nfile 600 3 \n", "n:/d/hermes-homes/mine": "file 644 7 /d/hermes-homes/default/SOUL.md\n",
		},
		[]ownHome{{"n", "verify-aaaaaaaaaaaaaaaa", time.Unix(12, 0)}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(surveyed{}, ownHome{})); diff != "" {
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

// TestLostAnswer: the note of a run stays where a sandbox may still come, and
// goes where all is gone.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, created := range []error{nil, fmt.Errorf("step 4: %w", sandbox.ErrAnswerLost)} {
		m := &own{client: &sandbox.Client{}, options: Options{Notes: t.TempDir()}, id: "verify-" + strings.Repeat("a", 16)}
		if err := m.note(); err != nil {
			t.Fatal(err)
		}
		if err := m.note(); err == nil {
			t.Error("a run was noted twice")
		}
		m.keep(sandbox.Sandbox{}, created)
		if err := m.clean(ctx); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(m.file.Name()); (err == nil) != (created != nil) {
			t.Errorf("%v: the note: %v", created, err)
		}
	}
}

// TestReportJSON: the keys of a report are a promise.
func TestReportJSON(t *testing.T) {
	t.Parallel()
	const want = `{"sandbox":"s","template":"t","status":"fail","started_at":"2026-01-02T03:04:05Z","duration_ms":6,` +
		`"checks":[{"id":"a","status":"pass","title":"A","evidence":"fine","remedy":"","because":"","duration_ms":7}]}`
	got, err := json.Marshal(Report{
		Sandbox: "s", Template: "t", Status: check.Fail, StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), DurationMS: 6,
		Checks: []check.Check{{ID: "a", Status: check.Pass, Title: "A", Evidence: "fine", DurationMS: 7}},
	})
	if string(got) != want || err != nil {
		t.Errorf("%v\n%s\n%s", err, got, want)
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
		if err := json.Unmarshal([]byte(`{"disks":{"/":{"free":99999999999,"files":null},"/workspace":{"free":0,"files":5000}}}`), &st); err != nil {
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
	none, noFiles := int64(0), disk(1<<30)
	noFiles.Disks["/"] = room{Free: 1 << 30, Files: &none}
	looked := &subject{asked: now, told: now.Add(time.Minute)}
	for name, c := range map[string]struct {
		got  check.Result
		want check.Status
	}{
		"room":                 {disk(1 << 30).disk(), check.Pass},
		"little room":          {disk(100 << 20).disk(), check.Warn},
		"no room":              {disk(0).disk(), check.Fail},
		"nobody knows":         {state{}.disk(), check.Fail},
		"no gateway":           {state{}.gateways(), check.Pass},
		"one gateway":          {state{Gateways: map[string][]int{"/a": {7}}}.gateways(), check.Pass},
		"two gateways":         {state{Gateways: map[string][]int{"/a": {7}, "/b": {8, 9}}}.gateways(), check.Fail},
		"two with a home each": {state{Gateways: map[string][]int{"/a": {7}, "/b": {8}}}.gateways(), check.Pass},
		"no inodes":            {noFiles.disk(), check.Fail},
		"crashes":              {ends(time.Minute, "1").crashLoop(), check.Fail},
		"crashes of old":       {ends(time.Hour, "1").crashLoop(), check.Pass},
		"ends as asked":        {ends(time.Minute, "143").crashLoop(), check.Pass},
		"many starts":          {state{Now: at, Starts: []float64{at, at, at, at, at, at}}.crashLoop(), check.Warn},
		"starts of old":        {state{Now: at, Starts: []float64{1, 1, 1, 1, 1, 1}}.crashLoop(), check.Pass},
		"given up":             {state{Ended: new(string)}.crashLoop(), check.Fail},
		"crashes to come":      {ends(-time.Hour, "1").crashLoop(), check.Pass},
		"a clock as ours":      {looked.clock(at+1, at+59), check.Pass},
		"a clock behind":       {looked.clock(at-10, at+49), check.Warn},
		"a clock ahead":        {looked.clock(at+40, at+98), check.Fail},
		"a clock far back":     {looked.clock(at-3600, at-3541), check.Fail},
	} {
		if c.got.Status != c.want {
			t.Errorf("%s: %s: %s", name, c.got.Status, c.got.Evidence)
		}
	}
}

func TestConfigProblem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: b\n---\nc: d": "has more than one document", "---\na: b\n": "", "a: b\n...\n": "", "": "", "a: b": "", "# nothing": "", "- a": "is no mapping", "text": "is no mapping", "a: [sk-secret": "is broken line 1", "a: b\n\tc": "is broken line 2",
	} {
		if got := configProblem([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestParseIdentity(t *testing.T) {
	t.Parallel()
	const status = "Name:\tcat\nUid:\t1000\t0\t0\t0\n"
	got, err := parseIdentity("hello\nm\x00"+status+"\x00HOME=/root\x00XHERMES_HOME=/x\x00HERMES_HOME=/root/.hermes\x00", "m")
	if diff := cmp.Diff(identity{UID: 1000, Home: "/root", HermesHome: "/root/.hermes"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"", "m\x00", "m\x00" + status, "m\x00Uid:\tx\t\x00", "n\x00" + status + "\x00", "m\x00Uid:\t99999999999999999999\t\x00"} {
		if _, err := parseIdentity(bad, "m"); !errors.Is(err, answer.Err) {
			t.Errorf("%q: %v", bad, err)
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
