package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
	"github.com/hermesbox/hermesbox/sandbox"
)

// elsewhere is a node whose shared root is another directory.
type elsewhere struct {
	node.Node
	dir string
}

func (n elsewhere) Run(ctx context.Context, s node.Script) (int, error) {
	s.Args = append([]string{}, s.Args...)
	for i, a := range s.Args {
		s.Args[i] = strings.Replace(a, "/data/shared", n.dir, 1)
	}
	return n.Node.Run(ctx, s)
}

// TestCreateOverSSH: one connection and three commands on the node, and little
// time beyond what Cube and the Web UI take.
func TestCreateOverSSH(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	s := newStage(t)
	s.create(s.spec("first", "team")) // makes the default home
	best := time.Hour
	for round := range 3 {
		n := node.NewSSH("node-1", "root@"+net.JoinHostPort(server.Host, strconv.Itoa(server.Port)), "", &sshdial.Dialer{Getenv: server.Getenv})
		s.client.Nodes = []node.Node{elsewhere{n, s.opts.SharedRoot}}
		plain := plainScript(t, n)
		connections, execs := server.Connections(), server.Execs(t)
		last, own := time.Now(), time.Duration(0)
		s.client.Progress = func(step sandbox.Step) {
			switch step.Name {
			case "resolve", "directories", "home", "mounts", "skills", "url":
				own += time.Since(last)
			}
			t.Logf("%d: %v", step.Number, time.Since(last))
			last = time.Now()
		}
		home := "home-" + strconv.Itoa(round)
		made := s.create(s.spec(home, home))
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		if c, e := server.Connections()-connections, server.Execs(t)-execs; c != 0 || e > 3 {
			t.Errorf("%d more connections and %d commands, want none and 3 at most", c, e)
		}
		if made.Steps[2].Detail != "seeded" || made.Steps[5].Status != sandbox.Done {
			t.Errorf("%+v", made.Steps)
		}
		best = min(best, own-3*plain)
		if err := s.client.Stop(t.Context(), made.Sandbox); err != nil {
			t.Error(err)
		}
	}
	t.Logf("own time, without what an empty script takes three times: %v", best)
	if best > 300*time.Millisecond && quiet(t) {
		t.Errorf("its own steps take %v, at most 300 ms are allowed", best)
	}
}

// plainScript connects, and is how long an empty script then takes: that is
// sshd's and the login shell's, which on some machines does much.
func plainScript(t *testing.T, n node.Node) time.Duration {
	t.Helper()
	best := time.Hour
	for range 3 {
		began := time.Now()
		if code, err := n.Run(t.Context(), node.Script{Text: ":\n"}); err != nil || code != 0 {
			t.Fatalf("an empty script: %d, %v", code, err)
		}
		best = min(best, time.Since(began))
	}
	return best
}

// quiet tells whether the machine has time for us, so that times mean something.
func quiet(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	var load float64
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		t.Fatal(err)
	}
	return load < float64(runtime.NumCPU())
}
