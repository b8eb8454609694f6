package egress

import (
	"context"
	"strings"
	"testing"
)

func (w *world) guard(t *testing.T) (release func(context.Context) error) {
	t.Helper()
	release, err := Guard(t.Context(), w.host.Path(), "br0")
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestGuard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, target := w.sandbox(t)
	echo(t, s, target.Address.String())
	expect(t, s, public, Pass)
	w.guard(t)
	release := w.guard(t)
	for network, payload := range map[string][]byte{"tcp": nil, "udp": []byte("x"), "ip4:icmp": ping()} {
		if err := reach(s, network, public, payload, patience); err == nil {
			t.Errorf("%s passed before rules were applied", network)
		}
	}
	mustApply(t, target, Rules{Internet: true})
	expect(t, s, public, Pass)
	expect(t, s, lan, Drop)
	if err := reach(w.host, "tcp", target.Address.String(), []byte("hello"), enough); err != nil {
		t.Errorf("from the host: %v", err)
	}
	if err := Remove(t.Context(), target.Host, target.ID); err != nil {
		t.Fatal(err)
	}
	if err := reach(s, "tcp", public, nil, patience); err == nil {
		t.Error("it passed after the rules were removed")
	}
	if err := release(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, s, public, Pass)
}

// TestUnguard is a new run after one that was killed, with and without the bridge.
func TestUnguard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, _ := w.sandbox(t)
	w.guard(t)
	if err := Unguard(t.Context(), w.host.Path(), "br0"); err != nil {
		t.Fatal(err)
	}
	expect(t, s, public, Pass)
	w.guard(t)
	w.host.IP(t, "link del br0")
	for range 2 {
		if err := Unguard(t.Context(), w.host.Path(), "br0"); err != nil {
			t.Errorf("without the bridge: %v", err)
		}
	}
	if left := tables(t, w.host); left != nil {
		t.Errorf("left: %v", left)
	}
	if err := Unguard(t.Context(), w.host.Path(), "a/b"); err == nil || !strings.Contains(err.Error(), `"a/b"`) {
		t.Errorf("Unguard of a malformed name: %v", err)
	}
}

func TestGuardErrors(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for _, test := range []struct{ name, host, bridge, want string }{
		{"no bridge", s.Path(), "br0", "br0"},
		{"no name", s.Path(), "", `""`},
		{"an unlikely name", s.Path(), "a/b", `"a/b"`},
		{"no host", "/nonexistent", "br0", "/nonexistent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Guard(t.Context(), test.host, test.bridge); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Guard: %v, want %q", err, test.want)
			}
		})
	}
	if left := tables(t, s); left != nil {
		t.Errorf("left: %v", left)
	}
}

// TestGuardOfNewBridge closes a bridge that was made anew under the name of one that was guarded.
func TestGuardOfNewBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.guard(t)
	w.host.IP(t, `
		link del br0
		link add br0 address 02:00:00:00:00:01 type bridge
		addr add 172.31.0.1/16 dev br0
		link set br0 up`)
	w.guard(t)
	s := w.joined(t)
	for network, payload := range map[string][]byte{"tcp": nil, "udp": []byte("x"), "ip4:icmp": ping()} {
		if err := reach(s, network, public, payload, patience); err == nil {
			t.Errorf("%s passed", network)
		}
	}
	if err := Unguard(t.Context(), w.host.Path(), "br0"); err != nil {
		t.Fatal(err)
	}
	w.settle(t, s)
}
