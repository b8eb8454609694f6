package web

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestCompose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/a", "1")
	write(t, dir+"/b", "22")
	write(t, dir+"/kept", "k")
	for _, test := range []struct {
		name, body string
		code       int
		message    string
	}{
		{"no JSON", "x", 400, "invalid request body"},
		{"nothing", "{}", 400, "source_paths must not be empty"},
		{"no destination", `{"source_paths":["D/kept"]}`, 400, "destination is required"},
		{"user", `{"source_paths":["D/kept"],"destination":"D/x","username":"nosuch"}`, 401, "unknown user"},
		{"other home", `{"source_paths":["D/kept"],"destination":"~root/x"}`, 400, "error resolving destination path"},
		{"other home as source", `{"source_paths":["~root/x"],"destination":"D/x"}`, 400, "error resolving source path"},
		{"onto itself", `{"source_paths":["D/kept"],"destination":"D/kept"}`, 400, "cannot be the same as destination"},
		{"missing", `{"source_paths":["D/no"],"destination":"D/x"}`, 404, "source file not found: " + dir + "/no"},
		{"directory", `{"source_paths":["D"],"destination":"D/x"}`, 400, "is not a regular file"},
		{"under a file", `{"source_paths":["D/kept"],"destination":"D/kept/x"}`, 500, "error ensuring directories"},
		{"onto a directory", `{"source_paths":["D/kept"],"destination":"D"}`, 500, "error finalizing compose"},
		{"where nothing can be made", `{"source_paths":["D/kept"],"destination":"/proc/x"}`, 500, "error creating destination file"},
		{"two", `{"source_paths":["D/a","D/b"],"destination":"D/new/ab"}`, 200, `"name":"ab"`},
	} {
		w := ask(t, newServer(t), "POST", "/files/compose", strings.ReplaceAll(test.body, "D", dir))
		if w.Code != test.code || !strings.Contains(w.Body.String(), test.message) {
			t.Errorf("%s: %d %s, want %d with %q", test.name, w.Code, w.Body, test.code, test.message)
		}
	}
	if got := read(t, dir+"/new/ab"); got != "122" {
		t.Errorf("%q", got)
	}
	for _, gone := range []string{"/a", "/b"} {
		if _, err := os.Stat(dir + gone); err == nil {
			t.Errorf("source %s is still there", gone)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 { // kept, new
		t.Errorf("left over: %v (error %v)", left, err)
	}
}

func TestAppendFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	to, err := os.Create(dir + "/to")
	if err != nil {
		t.Fatal(err)
	}
	if err := appendFile(to, dir+"/no"); err == nil || !strings.Contains(err.Error(), "error opening source file") {
		t.Errorf("missing: %v", err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/from", "x")
	if err := appendFile(to, dir+"/from"); err == nil || !strings.Contains(err.Error(), "error composing source") {
		t.Errorf("closed: %v", err)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/stat"); err != nil {
		t.Skip("needs /proc")
	}
	s := newServer(t)
	var m metrics
	for range 2 {
		w := ask(t, s, "GET", "/metrics", "")
		if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		if m.CPUCount < 1 || m.CPUUsedPct < 0 || m.CPUUsedPct > 100 || m.MemTotal < m.MemUsed || m.MemUsed == 0 || m.DiskTotal < m.DiskUsed || m.TS == 0 {
			t.Errorf("%+v", m)
		}
	}
}

func TestUsed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for i, test := range []struct {
		stat string
		want float64
	}{
		{"cpu  10 0 10 70 10 0 0\nintr 1\n", 20},
		{"cpu  10 0 10 70 10 0 0\n", 0},
		{"cpu  20 0 10 80 10 0 0\n", 50},
	} {
		if got := s.used(parseTicks([]byte(test.stat))); got != test.want {
			t.Errorf("step %d: %v, want %v", i, got, test.want)
		}
	}
	if got := parseMemory([]byte("MemTotal:  2 kB\nodd\nHugePages: x\n"))["MemTotal"]; got != 2048 {
		t.Errorf("MemTotal: %d", got)
	}
}
