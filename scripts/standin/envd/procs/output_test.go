package procs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// TestLargeOutput: nothing is lost for readers that are slower than the process.
func TestLargeOutput(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	s := rig.start(t.Context(), t, shell("seq 1 500000; seq 1 500000 >&2"))
	slow := 0
	got := s.read(func(*result) bool {
		if slow++; slow <= 20 {
			time.Sleep(10 * time.Millisecond)
		}
		return slow > 20
	})
	rest := s.all()
	if rest.end == nil {
		t.Fatalf("no end: %v", rest.err)
	}
	var want strings.Builder
	for i := 1; i <= 500000; i++ {
		fmt.Fprintln(&want, i)
	}
	if sum := sha256.Sum256([]byte(got.stdout.String() + rest.stdout.String())); sum != sha256.Sum256([]byte(want.String())) {
		t.Errorf("stdout: %d bytes, want %d", len(got.stdout.String()+rest.stdout.String()), want.Len())
	}
	if sum := sha256.Sum256([]byte(got.stderr.String() + rest.stderr.String())); sum != sha256.Sum256([]byte(want.String())) {
		t.Errorf("stderr: %d bytes, want %d", len(got.stderr.String()+rest.stderr.String()), want.Len())
	}
}

// TestListeners: all who listen get the same, and the end.
func TestListeners(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	first := rig.start(t.Context(), t, shell("read go; seq 1 50000", withStdin))
	var wg sync.WaitGroup
	results := make([]*result, 5)
	for i := range results {
		s := rig.connect(t.Context(), t, byPID(first.pid))
		wg.Go(func() { results[i] = s.all() })
	}
	if err := rig.send(t.Context(), first.pid, "go\n"); err != nil {
		t.Fatal(err)
	}
	want := first.all()
	wg.Wait()
	for i, got := range results {
		if got.stdout.String() != want.stdout.String() || got.end == nil || got.err != nil {
			t.Errorf("listener %d: %d bytes, want %d (end %v, error %v)", i, got.stdout.Len(), want.stdout.Len(), got.end, got.err)
		}
	}
}

// TestClientLeaves: the process goes on and its output vanishes, also while it fills the connection.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	rig := newRig(t, time.Minute)
	done := filepath.Join(t.TempDir(), "done")
	for i := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		mark := fmt.Sprint(done, i)
		s := rig.start(ctx, t, shell("head -c 16777216 /dev/zero; echo $? >"+mark))
		s.read(func(r *result) bool { return r.stdout.Len() > 0 })
		cancel()
		end := rig.connect(t.Context(), t, byPID(s.pid)).read(func(r *result) bool { return r.end != nil })
		if end.end.GetStatus() != "exit status 0" {
			t.Fatalf("end: %v (error %v)", end.end, end.err)
		}
		if _, err := os.Stat(mark); err != nil {
			t.Fatalf("the process did not get to its end: %v", err)
		}
	}
}

// TestManyProcesses: nothing is left of them.
func TestManyProcesses(t *testing.T) {
	rig := newRig(t, 0)
	rig.start(t.Context(), t, shell("true")).all()
	files, routines := openFiles(t), runtime.NumGoroutine()
	var wg sync.WaitGroup
	for i := range 100 {
		s := rig.start(t.Context(), t, shell(fmt.Sprintf("echo %d; exit %d", i, i%7), withStdin))
		wg.Go(func() {
			got := s.all()
			if got.stdout.String() != fmt.Sprintln(i) || got.end.GetExitCode() != int32(i%7) {
				t.Errorf("process %d: %q %v (error %v)", i, got.stdout.String(), got.end, got.err)
			}
		})
	}
	wg.Wait()
	if pids := rig.pids(t.Context(), t); len(pids) > 0 {
		t.Errorf("still listed: %v", pids)
	}
	if zombies := zombies(t); len(zombies) > 0 {
		t.Errorf("zombies: %v", zombies)
	}
	settles(t, "open files", files, func() int { return openFiles(t) })
	settles(t, "goroutines", routines, runtime.NumGoroutine)
}

// settles waits until a count is back near where it was; connections need a moment to close.
func settles(t *testing.T, what string, want int, count func() int) {
	t.Helper()
	var got int
	for range 100 {
		if got = count(); got <= want+5 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s: %d, before %d", what, got, want)
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(list)
}

func zombies(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range stats {
		data, _ := os.ReadFile(path) // it may have ended
		_, rest, _ := strings.Cut(string(data), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[0] == "Z" && fields[1] == fmt.Sprint(os.Getpid()) {
			found = append(found, path)
		}
	}
	return found
}

func TestHeldOutputs(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	for _, test := range []struct {
		name, script string
		sig          process.Signal
		stdout       string
		atLeast      time.Duration
		atMost       time.Duration
	}{
		{name: "a child holds them", script: "sleep 1 & echo ready", stdout: "ready\n", atLeast: 900 * time.Millisecond, atMost: 10 * time.Second},
		{name: "redirected", script: "sleep 30 >/dev/null 2>&1 & echo ready", stdout: "ready\n", atMost: 10 * time.Second},
		{name: "SIGTERM ends the wait", script: "sleep 30 & echo ready; wait", sig: process.Signal_SIGNAL_SIGTERM, stdout: "ready\n", atMost: 10 * time.Second},
		{name: "SIGKILL ends the wait", script: "sleep 30 & echo ready; wait", sig: process.Signal_SIGNAL_SIGKILL, stdout: "ready\n", atMost: 10 * time.Second},
		{
			name: "nothing is lost by a signal", script: `trap "seq 1 10000; exit 0" TERM; sleep 30 & echo ready; wait`,
			sig: process.Signal_SIGNAL_SIGTERM, stdout: "ready\n" + numbers(10000), atMost: 10 * time.Second,
		},
		{
			name: "after the exit", script: "sleep 30 & echo ready", // the signal finds a process that has ended
			sig: process.Signal_SIGNAL_SIGTERM, stdout: "ready\n", atMost: 10 * time.Second,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			s := rig.start(t.Context(), t, shell(test.script))
			got := s.read(func(r *result) bool { return r.stdout.Len() > 0 })
			if test.sig != 0 {
				time.Sleep(100 * time.Millisecond)
				if err := rig.kill(t.Context(), s.pid, test.sig); err != nil {
					t.Fatal(err)
				}
			}
			rest := s.all()
			if got.stdout.String()+rest.stdout.String() != test.stdout || rest.end == nil {
				t.Errorf("%q and end %v, want %q", got.stdout.String()+rest.stdout.String(), rest.end, test.stdout)
			}
			if took := time.Since(begin); took < test.atLeast || took > test.atMost {
				t.Errorf("took %v, want %v to %v", took, test.atLeast, test.atMost)
			}
		})
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestConnectErrors(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 0)
	for _, test := range []struct {
		name    string
		sel     *process.ProcessSelector
		code    connect.Code
		message string
	}{
		{"pid", byPID(999999), connect.CodeNotFound, "process with pid 999999 not found"},
		{"tag", byTag("nosuch"), connect.CodeNotFound, "process with tag nosuch not found"},
		{"none", nil, connect.CodeUnimplemented, "invalid input type *process.ProcessSelector"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := rig.Connect(t.Context(), connect.NewRequest(&process.ConnectRequest{Process: test.sel}))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Receive() {
				t.Errorf("an event: %v", s.Msg())
			}
			wantError(t, s.Err(), test.code, test.message)
		})
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	rig := newRig(t, 300*time.Millisecond)
	s := rig.start(t.Context(), t, shell("exit 4", tagged("gone")))
	s.all()
	for _, sel := range []*process.ProcessSelector{byPID(s.pid), byTag("gone")} {
		again := rig.connect(t.Context(), t, sel)
		if got := again.all(); again.pid != s.pid || got.end.GetExitCode() != 4 {
			t.Errorf("%v: pid %d, end %v", sel, again.pid, got.end)
		}
	}
	wantError(t, rig.kill(t.Context(), s.pid, process.Signal_SIGNAL_SIGTERM), connect.CodeNotFound, "not found")
	time.Sleep(500 * time.Millisecond)
	if e := rig.service.table.findEnded(byPID(s.pid)); e != nil {
		t.Errorf("still kept: %v", e)
	}
}
