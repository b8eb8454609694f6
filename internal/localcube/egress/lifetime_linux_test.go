package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"

	"github.com/hermesbox/hermesbox/internal/nettest"
)

// tables are the names of all tables in a namespace.
func tables(t *testing.T, s nettest.Space) []string {
	t.Helper()
	c, err := dial(s.File)
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.ListTables()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range all {
		names = append(names, table.Name)
	}
	slices.Sort(names)
	return names
}

func TestRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := plant(t, w.host)
	s, target := w.sandbox(t)
	release, err := Apply(t.Context(), target, Rules{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Apply(t.Context(), target, Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hermesbox-box-1", theirs}, tables(t, w.host)); diff != "" {
		t.Errorf("tables after two calls (-want +got):\n%s", diff)
	}
	for _, f := range []func(context.Context) error{release, release, again} {
		if err := f(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	if diff := cmp.Diff([]string{theirs}, tables(t, w.host)); diff != "" {
		t.Errorf("tables after release (-want +got):\n%s", diff)
	}
	expect(t, s, lan, Pass)
}

// plant makes a table that is somebody else's.
func plant(t *testing.T, s nettest.Space) string {
	t.Helper()
	c, err := dial(s.File)
	if err != nil {
		t.Fatal(err)
	}
	c.AddTable(&nftables.Table{Name: "somebody-else", Family: nftables.TableFamilyNetdev})
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return "somebody-else"
}

// TestList is a new run that cleans up after one that was killed.
func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plant(t, w.host)
	_, one := w.sandbox(t)
	_, two := w.sandbox(t)
	mustApply(t, one, Rules{})
	mustApply(t, two, Rules{})
	w.guard(t)
	got, err := List(t.Context(), w.host.Path())
	slices.Sort(got)
	if diff := cmp.Diff([]string{"box-1", "box-2"}, got); diff != "" || err != nil {
		t.Errorf("List: %v (-want +got):\n%s", err, diff)
	}
	if err := Remove(t.Context(), w.host.Path(), "box-1"); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if got, err := List(t.Context(), w.host.Path()); err != nil || !cmp.Equal(got, []string{"box-2"}) {
		t.Errorf("List after Remove: %v, %v", got, err)
	}
}

// TestLinkGoes is a sandbox that ends, and one that is started again.
func TestLinkGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	mustApply(t, target, Rules{})
	w.host.IP(t, "link del box1")
	if _, err := Apply(t.Context(), target, Rules{}); err == nil || !strings.Contains(err.Error(), "0 veth pairs join") {
		t.Errorf("Apply without a link: %v", err)
	}
	w.host.IP(t, "link add box1 type veth peer name eth0 address 02:00:00:00:01:01")
	w.host.Move(t, "eth0", s)
	w.host.IP(t, "link set box1 master br0 up")
	s.IP(t, "addr add 172.31.1.1/16 dev eth0\nlink set eth0 up\nroute add default via 172.31.0.1")
	mustApply(t, target, Rules{Internet: true})
	expect(t, s, public, Pass)
	expect(t, s, lan, Drop)
	w.host.IP(t, "link del box1")
	if err := Remove(t.Context(), target.Host, target.ID); err != nil {
		t.Errorf("Remove without a link: %v", err)
	}
	if left := tables(t, w.host); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestTwoSandboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open, one := w.sandbox(t)
	shut, two := w.sandbox(t)
	echo(t, shut, two.Address.String())
	expect(t, open, two.Address.String(), Pass)
	mustApply(t, one, Rules{Internet: true, Allow: prefixes("0.0.0.0/0")})
	mustApply(t, two, Rules{})
	for _, addr := range everywhere() {
		expect(t, open, addr, Pass)
		expect(t, shut, addr, Drop)
	}
	expect(t, open, two.Address.String(), Drop)
	open.IP(t, "route add 172.31.1.2/32 via 172.31.0.1") // over the gateway, past the bridge
	expect(t, open, two.Address.String(), Drop)
	if err := Remove(t.Context(), one.Host, one.ID); err != nil {
		t.Fatal(err)
	}
	expect(t, shut, public, Drop)
}

// TestMany applies rules to sandboxes at once, and to one of them repeatedly.
func TestMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var targets []Target
	for range 10 {
		_, target := w.sandbox(t)
		targets = append(targets, target)
	}
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			target := targets[i%len(targets)]
			if _, err := Apply(t.Context(), target, Rules{Internet: i%2 == 0}); err != nil {
				t.Errorf("Apply to %s: %v", target.ID, err)
			}
		})
	}
	group.Wait()
	if left := tables(t, w.host); len(left) != len(targets) {
		t.Errorf("%d tables for %d sandboxes", len(left), len(targets))
	}
}

// TestFull puts as many networks as CubeVS takes, several times.
func TestFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	var many []netip.Prefix
	for i := range MaxEntries - 5 {
		many = append(many, netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 7), byte(i << 1), 0}), 24))
	}
	r := Rules{Internet: true, Deny: many, Allow: append(slices.Clone(many), prefixes("10.10.0.0/16")...)}
	for range 3 {
		mustApply(t, target, r)
		expect(t, s, lan, Pass)
		expect(t, s, otherLAN, Drop)
	}
	r.Allow = nil
	mustApply(t, target, r)
	expect(t, s, lan, Drop)
}

func TestApplyErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, good := w.sandbox(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		edit func(*Target)
		want string
	}{
		{"no namespace", func(x *Target) { x.NetNS = "/nonexistent" }, "/nonexistent"},
		{"not a namespace", func(x *Target) { x.NetNS = file }, file + " is none"},
		{"the wrong host", func(x *Target) { x.Host = w.outside.Path() }, "0 veth pairs join"},
		{"the host's own namespace", func(x *Target) { x.NetNS = w.host.Path() }, "0 veth pairs join"},
		{"no host", func(x *Target) { x.Host = "/nonexistent" }, "/nonexistent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := good
			test.edit(&target)
			if _, err := Apply(t.Context(), target, Rules{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Apply: %v, want %q", err, test.want)
			}
		})
	}
	if left := tables(t, w.host); left != nil {
		t.Errorf("left: %v", left)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Apply(ended, good, Rules{})
	_, listed := List(ended, good.Host)
	for name, err := range map[string]error{"Apply": err, "List": listed, "Remove": Remove(ended, good.Host, "x")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that has ended: %v", name, err)
		}
	}
	if err := Remove(t.Context(), "", "a/b"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", "a/b")) {
		t.Errorf("Remove of a malformed ID: %v", err)
	}
}

// TestAllOrNothing has the kernel refuse rules for a sandbox that has some.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	mustApply(t, target, Rules{Internet: true})
	err := enforce(w.host.File, target, link{name: "a-name-longer-than-15"}, Rules{Internet: true, Allow: prefixes("0.0.0.0/0")})
	if err == nil || !strings.Contains(err.Error(), "committing table hermesbox-box-1 on a-name-longer-than-15") {
		t.Errorf("enforce: %v", err)
	}
	expect(t, s, public, Pass)
	expect(t, s, lan, Drop)
}

// TestTwoLinks is a sandbox on two networks, of which one would stay open.
func TestTwoLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	w.host.IP(t, "link add second type veth peer name eth1")
	w.host.Move(t, "eth1", s)
	if _, err := Apply(t.Context(), target, Rules{}); err == nil || !strings.Contains(err.Error(), "2 veth pairs join") {
		t.Errorf("Apply: %v", err)
	}
}
