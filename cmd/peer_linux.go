package cmd

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ownPeer tells whether the other end of a connection on loopback belongs to
// this user. Others can see the command line of a browser, and be faster. Where
// the system does not tell, it is believed.
func ownPeer(peer, local string) bool {
	table, err := os.Open("/proc/net/tcp")
	if err != nil {
		return true
	}
	defer func() { _ = table.Close() }() // only read from
	uid, ok := peerUser(table, peer, local)
	return !ok || uid == os.Getuid()
}

// peerUser looks the connection from peer to local up in a table of the kernel.
func peerUser(table io.Reader, peer, local string) (uid int, ok bool) {
	from, to := kernelAddress(peer), kernelAddress(local)
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 || from == "" || f[1] != from || f[2] != to {
			continue
		}
		uid, err := strconv.Atoi(f[7])
		return uid, err == nil
	}
	return 0, false
}

// kernelAddress is an IPv4 address and port as the table has it, on machines
// that are little-endian as all of ours are.
func kernelAddress(addr string) string {
	a, err := netip.ParseAddrPort(addr)
	if err != nil || !a.Addr().Is4() {
		return ""
	}
	ip := a.Addr().As4()
	return strings.ToUpper(hex.EncodeToString([]byte{ip[3], ip[2], ip[1], ip[0]})) + fmt.Sprintf(":%04X", a.Port())
}
