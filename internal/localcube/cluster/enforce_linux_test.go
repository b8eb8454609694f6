package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestOutboundHost asks each time where the Engine is: one that ended is nowhere.
func TestOutboundHost(t *testing.T) {
	t.Parallel()
	o := outbound{socket: filepath.Join(t.TempDir(), "s")}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", o.socket)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("/proc/%d/ns/net", os.Getpid())
	if got, err := o.host(t.Context()); got != want || err != nil {
		t.Errorf("host: %s, %v, want %s", got, err, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := o.host(t.Context()); err == nil {
		t.Errorf("host of an Engine that ended: %s", got)
	}
}
