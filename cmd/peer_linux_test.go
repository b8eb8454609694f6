package cmd

import (
	"net"
	"os"
	"strings"
	"testing"
)

func TestPeerUser(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0
`
	for _, test := range []struct {
		peer string
		uid  int
		ok   bool
	}{
		{"127.0.0.1:50000", 1000, true},
		{"127.0.0.1:50001", 0, false},
		{"[::1]:50000", 0, false},
		{"", 0, false},
	} {
		uid, ok := peerUser(strings.NewReader(table), test.peer, "127.0.0.1:8080")
		if uid != test.uid || ok != test.ok {
			t.Errorf("%q: %d, %v; want %d, %v", test.peer, uid, ok, test.uid, test.ok)
		}
	}
}

// TestOwnPeer: the table of this machine knows this process.
func TestOwnPeer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	table, err := os.Open("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if uid, ok := peerUser(table, conn.LocalAddr().String(), l.Addr().String()); !ok || uid != os.Getuid() {
		t.Errorf("%d, %v; want %d", uid, ok, os.Getuid())
	}
}
