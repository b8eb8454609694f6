package localcube_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// names wants that a sandbox resolves a name, or does not.
func (f *fenced) names(id, when string, resolves bool) {
	f.t.Helper()
	want := "none"
	if resolves {
		want = answered
	}
	if got := strings.TrimSpace(f.inside(id, "reach.py", "some.name.test")); got != "name some.name.test "+want {
		f.t.Errorf("%s: %q, want %s", when, got, want)
	}
}

// untouched wants that nothing reaches these while do runs.
func (f *fenced) untouched(when string, do func(), addrs ...string) {
	f.t.Helper()
	before := map[string]int{}
	for _, addr := range addrs {
		before[addr] = f.out.arrived(addr)
	}
	do()
	for addr, n := range before {
		if got := f.out.arrived(addr); got > n {
			f.t.Errorf("%s: %d packets reached %s", when, got-n, addr)
		}
	}
}

// TestNames asks the node's resolver, a private one: it is open with the
// internet, port 53 of it, and closed with it.
func TestNames(t *testing.T) {
	t.Parallel()
	f := newFenced(t, "")
	id, _ := f.make("")
	if got := f.exec(id, "getent", "hosts", "some.name.test"); !strings.HasPrefix(got, answered) {
		t.Errorf("the default: %q, want %s", got, answered)
	}
	f.names(id, "the default", true)
	f.untouched("the default", func() {
		want := "tcp " + otherResolver + ":53 refused\nudp " + otherResolver + ":53 silent\n"
		if got := f.inside(id, "reach.py", otherResolver+":53"); got != want {
			t.Errorf("another resolver: %q, want %q", got, want)
		}
		want = "tcp " + lanResolver + " refused\nudp " + lanResolver + " silent\n"
		if got := f.inside(id, "reach.py", lanResolver); got != want {
			t.Errorf("another port of the resolver: %q, want %q", got, want)
		}
	}, otherResolver)
	for _, step := range []struct {
		name, policy string
		resolves     bool
	}{
		{"denied by name", `{"denyOut":["10.10.0.0/16"]}`, false},
		{"all denied", `{"denyOut":["0.0.0.0/0"]}`, false},
		{"internet off", `{"allowInternetAccess":false}`, false},
		{"internet off, the resolver allowed", `{"allowInternetAccess":false,"allowOut":["` + lanResolver + `"]}`, true},
		{"internet off, another allowed", `{"allowInternetAccess":false,"allowOut":["` + otherResolver + `"]}`, false},
	} {
		f.put(id, step.policy)
		if step.resolves {
			f.names(id, step.name, true)
			continue
		}
		f.untouched(step.name, func() { f.names(id, step.name, false) }, lanResolver, otherResolver, publicResolver)
	}
}

// TestNamesOfTemplate asks the resolvers that a template names: they have to be allowed, as on a cluster.
func TestNamesOfTemplate(t *testing.T) {
	t.Parallel()
	f := newFenced(t, `,"dns":["`+otherResolver+`"]`)
	id, _ := f.make("")
	f.untouched("a private one", func() { f.names(id, "a private one", false) }, lanResolver, otherResolver)
	f.put(id, `{"allowOut":["`+otherResolver+`/32"]}`)
	f.untouched("allowed", func() { f.names(id, "allowed", true) }, lanResolver)
	if got := f.api(http.MethodDelete, "/sandboxes/"+id, ""); got.status != http.StatusNoContent {
		t.Errorf("deleting: %d %s", got.status, got.body)
	}
	hosts := fmt.Sprintf("127.%d.%d.53", 100+rand.IntN(100), rand.IntN(256))
	f.out.serve(t, f.out.host, hosts+":53", resolved)
	f.tpl = f.template(`,"dns":["` + hosts + `"]`)
	id, _ = f.make(`,"network":{"allowOut":["0.0.0.0/0"]}`)
	f.untouched("a loopback address", func() { f.names(id, "a loopback address", false) }, hosts)
	f.tpl = f.template(`,"dns":["` + publicResolver + `"]`)
	id, _ = f.make("")
	f.names(id, "a public one", true)
	f.put(id, `{"allowInternetAccess":false}`)
	f.untouched("internet off", func() { f.names(id, "internet off", false) }, publicResolver)
}
