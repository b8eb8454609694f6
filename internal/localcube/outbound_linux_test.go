package localcube_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// fenced is a local Cube whose sandboxes have an outside to reach.
type fenced struct {
	*cube
	engine dockertest.Engine
	out    *outside
}

// newFenced makes one with a template of the stand-in base, more fields of which may be given.
func newFenced(t *testing.T, fields string) *fenced {
	t.Helper()
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	opts := localcube.Options{Docker: engine.Client, StateDir: tempDir(t), DNS: []netip.Addr{netip.MustParseAddr(lanResolver)}}
	f := &fenced{cube: &cube{t: t, opts: opts, st: serve(t, opts)}, engine: engine}
	if !f.st.EgressEnforced {
		dockertest.Missing(t, "root", f.st.EgressReason)
	}
	f.out = newOutside(t, engine, instanceOf(t, opts.StateDir))
	f.tpl = f.template(fields)
	return f
}

func (f *fenced) template(fields string) string {
	f.t.Helper()
	return templateOf(f.t, f.st, `{"image":"`+dockertest.BaseImage+`","exposedPorts":[49983],"probePort":49983`+fields+`}`)
}

// inside runs a script of testdata in a sandbox as root and gives what it says.
func (f *fenced) inside(id, script string, args ...string) string {
	f.t.Helper()
	text, err := os.ReadFile("testdata/" + script)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.exec(id, append([]string{"python3", "-c", string(text)}, args...)...)
}

func (f *fenced) exec(id string, argv ...string) string {
	f.t.Helper()
	options := container.ExecOptions{Cmd: argv, User: "root", AttachStdout: true, AttachStderr: true}
	made, err := f.engine.Client.ContainerExecCreate(f.t.Context(), "hermesbox-"+id, options)
	if err != nil {
		f.t.Fatal(err)
	}
	conn, err := f.engine.Client.ContainerExecAttach(f.t.Context(), made.ID, container.ExecAttachOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	var out, errs bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &errs, conn.Reader); err != nil {
		f.t.Fatal(err)
	}
	if errs.Len() > 0 {
		f.t.Fatalf("%.40q in the sandbox: %s", argv, errs.String())
	}
	return out.String()
}

// wants tries to reach all there is; it wants exactly these to be open, the
// rest refused (TCP) or silent (UDP), and the proxy's own way to go on.
func (f *fenced) wants(id, when string, open ...string) {
	f.t.Helper()
	all := []string{lan, other, public}
	var want []string
	for _, addr := range all {
		tcp, udp := "refused", "silent"
		if slices.Contains(open, addr) {
			tcp, udp = "pass", "pass"
		}
		want = append(want, "tcp "+addr+" "+tcp, "udp "+addr+" "+udp)
	}
	slices.Sort(want)
	if got := strings.Split(strings.TrimSpace(f.inside(id, "reach.py", all...)), "\n"); !slices.Equal(got, want) {
		f.t.Errorf("%s: %q, want %q", when, got, want)
	}
	if got := f.send(http.MethodGet, fmt.Sprintf("%s/sandbox/%s/49983/health", f.proxyURL(), id), ""); got.status/100 != 2 {
		f.t.Errorf("%s: through the proxy: %d %s", when, got.status, got.body)
	}
}

// put replaces the request's part of a sandbox's policy.
func (f *fenced) put(id, policy string) {
	f.t.Helper()
	if got := f.api(http.MethodPut, "/sandboxes/"+id+"/network", policy); got.status != http.StatusNoContent {
		f.t.Fatalf("PUT network %s: %d %s", policy, got.status, got.body)
	}
}

// TestOutbound replaces the policy of a sandbox while it runs.
func TestOutbound(t *testing.T) {
	t.Parallel()
	f := newFenced(t, "")
	id, _ := f.make("")
	f.wants(id, "the default", public)
	for _, step := range []struct {
		name, policy string
		open         []string
	}{
		{"one LAN", `{"allowOut":["10.10.0.0/16"]}`, []string{lan, public}},
		{"all open", `{"allowOut":["0.0.0.0/0"]}`, []string{lan, other, public}},
		{"allow beats deny", `{"allowOut":["10.10.0.5/32"],"denyOut":["0.0.0.0/0"]}`, []string{lan}},
		{"deny", `{"denyOut":["203.0.113.0/24"]}`, nil},
		{"internet off, all allowed", `{"allowInternetAccess":false,"allowOut":["0.0.0.0/0"]}`, []string{lan, other, public}},
		{"internet off, one address", `{"allowInternetAccess":false,"allowOut":["192.168.77.5"]}`, []string{other}},
		{"internet off", `{"allowInternetAccess":false}`, nil},
		{"internet off, as E2B's client spells it", `{"allow_internet_access":false,"allowOut":["10.10.0.0/16"]}`, []string{lan}},
		{"taken back", `{}`, []string{public}},
	} {
		f.put(id, step.policy)
		f.wants(id, step.name, step.open...)
	}
}

// TestOutboundMerged lays the policies of sandboxes over a template's.
func TestOutboundMerged(t *testing.T) {
	t.Parallel()
	f := newFenced(t, `,"allowInternetAccess":false,"allowOut":["10.10.0.0/16"]`)
	for _, test := range []struct {
		name, fields string
		open         []string
	}{
		{"the template's", "", []string{lan}},
		{"one more", `,"network":{"allowOut":["192.168.77.0/24"]}`, []string{lan, other}},
		{"internet on, the template's denied", `,"allow_internet_access":true,"network":{"denyOut":["10.10.0.0/16"]}`, []string{lan, public}},
	} {
		id, _ := f.make(test.fields)
		f.wants(id, test.name, test.open...)
		if test.fields == "" {
			f.put(id, `{"allowInternetAccess":true}`)
			f.wants(id, "internet on, while it runs", lan, public)
		}
		if got := f.api(http.MethodDelete, "/sandboxes/"+id, ""); got.status != http.StatusNoContent {
			t.Errorf("deleting: %d %s", got.status, got.body)
		}
	}
}

// TestOutboundRestarted starts containers anew behind the local Cube's back, and asks it nothing.
func TestOutboundRestarted(t *testing.T) {
	t.Parallel()
	f := newFenced(t, "")
	id, _ := f.make(`,"network":{"denyOut":["203.0.113.0/24"]}`)
	f.put(id, `{"allowOut":["192.168.77.0/24"]}`)
	for name, again := range map[string]func() error{
		"restart": func() error {
			return f.engine.Client.ContainerRestart(t.Context(), "hermesbox-"+id, container.StopOptions{})
		},
		"kill and start": func() error {
			if err := f.engine.Client.ContainerKill(t.Context(), "hermesbox-"+id, "KILL"); err != nil {
				return err
			}
			return f.engine.Client.ContainerStart(t.Context(), "hermesbox-"+id, container.StartOptions{})
		},
	} {
		if err := again(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := f.out.arrived(lan)
		got := ""
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && !strings.Contains(got, "tcp "+other+" pass"); {
			got = f.inside(id, "reach.py", lan, other)
		}
		if want := "tcp " + lan + " refused\ntcp " + other + " pass\nudp " + lan + " silent\nudp " + other + " pass\n"; got != want {
			t.Errorf("after %s: %q, want %q", name, got, want)
		}
		if n := f.out.arrived(lan) - before; n > 0 {
			t.Errorf("after %s: %d packets reached what is closed", name, n)
		}
	}
	f.wants(id, "after all", other, public)
}
