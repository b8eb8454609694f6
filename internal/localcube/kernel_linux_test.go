package localcube_test

import (
	"net"
	"strings"
	"testing"

	"github.com/google/nftables"

	"github.com/hermesbox/hermesbox/internal/nettest"
)

// nothingInKernel wants no table and no device of a local Cube in the Engine's namespace.
func nothingInKernel(t *testing.T, path, instance string) {
	t.Helper()
	if left := tablesOf(t, path, instance); len(left) > 0 {
		t.Errorf("tables left: %q", left)
	}
	nettest.Open(t, path).Do(t, func() error {
		links, err := net.Interfaces()
		for _, l := range links {
			if strings.Contains(l.Name, instance[:8]) {
				t.Errorf("device left: %s", l.Name)
			}
		}
		return err
	})
}

// tablesOf are the tables of a local Cube, its guard's included.
func tablesOf(t *testing.T, path, instance string) (names []string) {
	t.Helper()
	space := nettest.Open(t, path)
	c, err := nftables.New(nftables.WithNetNSFd(int(space.File.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := c.ListTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if strings.Contains(table.Name, instance[:8]) {
			names = append(names, table.Name)
		}
	}
	return names
}
