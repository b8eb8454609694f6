package verify_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
	"github.com/hermesbox/hermesbox/sandbox"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

// away puts the proxy of a stage at the end of a network of its own.
func (s *stage) away(addr string) {
	s.Helper()
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		s.Fatal(err)
	}
	s.client.Route.Proxy.Host, s.client.Route.Proxy.Port = at.IP.String(), at.Port
}

func (s *stage) proxy() string {
	return net.JoinHostPort(s.status.Proxy.IP, fmt.Sprint(s.status.Proxy.Port))
}

// distant passes bytes on to an address as a network with this round trip does: each way takes half of it, and a
// connection takes a whole one before anything is sent.
func distant(t testing.TB, addr string, trip time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addr)
			if err != nil {
				near.Close()
				continue
			}
			ready := time.Now().Add(trip)
			all.Go(func() { lag(far, near, trip/2, ready) })
			all.Go(func() { lag(near, far, trip/2, ready) })
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
	return l.Addr().String()
}

// lag passes bytes one way, each as much later as it takes, and none before ready.
func lag(to, from net.Conn, by time.Duration, ready time.Time) {
	type part struct {
		due  time.Time
		data []byte
	}
	line := make(chan part, 1<<16)
	go func() {
		defer close(line)
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			now := time.Now()
			if now.Before(ready) {
				now = ready
			}
			line <- part{now.Add(by), buf[:n]}
			if err != nil {
				return
			}
		}
	}()
	for p := range line {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			from.Close() // ends reading
		}
	}
	to.Close()
}

// lightAgent replaces the agent by programs that take no time of their own, and has the home name the stand-in's model.
const lightAgent = `RUN cd /opt/hermes-agent/.venv/bin; printf '%s\n' '#!/bin/sh' 'case "$*" in' \
    '--version) echo "Hermes Agent v0.19.0 (2026.7.20)" ;;' \
    '"skills list") for skill in "$HERMES_HOME"/skills/*/SKILL.md; do echo "│ $(sed -n "s/^name: //p" "$skill") │  │ local │"; done ;;' \
    '*) curl -s -d "{}" http://127.0.0.1:8100/v1/chat/completions ;;' 'esac' >hermes; \
    rm python; printf '#!/bin/sh\necho tools 2\n' >python; chmod +x python; \
    echo '{"model": {"base_url": "http://127.0.0.1:8100/v1"}, "skills": {"external_dirs": ["/opt/hermes-common-skills"]}}' >/root/.hermes/config.yaml
`

// BenchmarkMany verifies one sandbox and twenty at once, 200 ms away, with an agent that takes no time of its own. It
// tells how many times as long as one the twenty take: on the local Cube's node, where a script takes a container, and
// over SSH as on a cluster.
func BenchmarkMany(b *testing.B) {
	const many = 20
	s := newStage(b, lightAgent)
	s.onNode(publicSkills)
	var boxes []sandbox.Sandbox
	for i := range many {
		boxes = append(boxes, s.create(fmt.Sprintf("box-%d", i)))
	}
	s.away(distant(b, s.proxy(), 200*time.Millisecond))
	b.Run("ssh", func(b *testing.B) {
		s := &stage{TB: b, status: s.status, opts: s.opts, client: s.overSSH(b)}
		s.compare(b, boxes)
	})
	b.Run("local", func(b *testing.B) {
		s := &stage{TB: b, status: s.status, opts: s.opts, client: s.client}
		s.compare(b, boxes)
	})
}

// overSSH is the client of a stage with its node behind a server of SSH.
func (s *stage) overSSH(b *testing.B) *sandbox.Client {
	b.Helper()
	server := sshtest.Start(b, sshtest.Options{})
	n := node.NewSSH("node-1", server.Target(), "", &sshdial.Dialer{Getenv: server.Getenv, ConfigFile: server.ConfigFile()})
	b.Cleanup(func() {
		if err := n.Close(); err != nil {
			b.Error(err)
		}
	})
	client := *s.client
	client.Nodes, client.Layout.Root = []node.Node{n}, s.opts.SharedRoot
	return &client
}

// compare verifies the first alone and all at once.
func (s *stage) compare(b *testing.B, boxes []sandbox.Sandbox) {
	b.Helper()
	var one, all []time.Duration
	s.together(boxes[:1])
	for b.Loop() {
		one = append(one, s.together(boxes[:1]))
		all = append(all, s.together(boxes))
	}
	slices.Sort(one)
	slices.Sort(all)
	alone, together := one[len(one)/2], all[len(all)/2]
	b.ReportMetric(float64(together)/float64(alone), "times")
	b.ReportMetric(alone.Seconds(), "s/one")
	b.ReportMetric(together.Seconds(), "s/all")
}

// together verifies sandboxes at once and says how long that took.
func (s *stage) together(boxes []sandbox.Sandbox) time.Duration {
	s.Helper()
	begin := time.Now()
	reports, errs := make([]verify.Report, len(boxes)), make([]error, len(boxes))
	var all sync.WaitGroup
	for i, box := range boxes {
		all.Go(func() { reports[i], errs[i] = verify.Run(s.Context(), s.client, box, s.options()) })
	}
	all.Wait()
	took := time.Since(begin)
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
	for _, r := range reports {
		for _, c := range r.Checks {
			if c.Status != check.Pass && !s.mayBeSkipped(c.ID) {
				s.Errorf("%s %s: %s", c.Status, c.ID, c.Evidence)
			}
		}
	}
	return took
}

// counted is a proxy that notes what is asked.
func counted(t testing.TB, addr string) (at string, asked func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	all := map[string]int{}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: addr})
			r.Out.Host = r.In.Host
			mu.Lock()
			defer mu.Unlock()
			all[r.In.Method+" "+r.In.URL.Path]++
		},
		FlushInterval: -1,
	})
	t.Cleanup(front.Close)
	return front.Listener.Addr().String(), func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// countedNode notes how many scripts are run.
type countedNode struct {
	node.Node
	scripts atomic.Int32
}

func (n *countedNode) Run(ctx context.Context, s node.Script) (int, error) {
	n.scripts.Add(1)
	return n.Node.Run(ctx, s)
}

// TestRoundTrips: verification asks a sandbox 13 times and its node once, and leaves nothing in home and workspace.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	s.onNode(publicSkills)
	box := s.create("alice")
	at, asked := counted(t, s.proxy())
	s.away(at)
	counting := &countedNode{Node: s.node}
	s.client.Nodes = []node.Node{counting}
	s.together([]sandbox.Sandbox{box})
	want := map[string]int{
		"GET /health":                 3, // both ports, and once more when it is judged
		"POST /process.Process/Start": 6, // three probes, the skills, a login shell, the token
		"GET /files":                  1, // the settings, which name the model
		"GET /api/auth/status":        1,
		"GET /api/hermes/skills":      1, // without the token
		"DELETE /api/auth/locked-ips": 1,
	}
	if diff := cmp.Diff(want, asked()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if n := counting.scripts.Load(); n != 1 {
		t.Errorf("%d scripts ran on the node", n)
	}
	s.onNode(`for f in "$1"/hermes-homes/alice/.hermesbox-* "$1"/hermes-workspaces/alice/.hermesbox-*; do [ ! -e "$f" ] || { echo "$f stays"; exit 1; }; done`)
}
