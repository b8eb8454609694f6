package egress

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A link is the host's end of a sandbox's veth pair.
type link struct {
	name          string
	index, bridge int // bridge is 0 where it is the port of none
}

// openNetNS opens a network namespace by its path; close it.
func openNetNS(path string) (*os.File, error) {
	if path == "" {
		path = "/proc/thread-self/ns/net" // the first thread may be in a namespace that was tried
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a network namespace: %w", err)
	}
	if _, err := unix.IoctlRetInt(int(f.Fd()), unix.NS_GET_NSTYPE); err != nil {
		_ = f.Close() // it is not what was wanted
		return nil, fmt.Errorf("opening a network namespace: %s is none", path)
	}
	return f, nil
}

// withLinks runs f with a handle on the links of the namespace.
func withLinks(host *os.File, f func(*netlink.Handle) error) error {
	handle, err := netlink.NewHandleAt(netns.NsHandle(host.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("entering %s: %w", host.Name(), err)
	}
	defer handle.Close()
	return f(handle)
}

// findLink finds the host's end of the one veth pair into the sandbox's
// namespace. It asks the host alone: whatever root made of the interfaces
// inside, no link of the host but its peer points there.
func findLink(handle *netlink.Handle, sandbox *os.File) (link, error) {
	links, err := list(handle) // first: it numbers the namespaces that links lead to
	if err != nil {
		return link{}, err
	}
	id, err := handle.GetNetNsIdByFd(int(sandbox.Fd()))
	if err != nil {
		return link{}, fmt.Errorf("asking for the number of %s: %w", sandbox.Name(), err)
	}
	var found []link
	for _, l := range links {
		if a := l.Attrs(); id >= 0 && l.Type() == "veth" && a.NetNsID == id {
			found = append(found, link{name: a.Name, index: a.Index, bridge: a.MasterIndex})
		}
	}
	if len(found) != 1 {
		return link{}, fmt.Errorf("%d veth pairs join %s to this host, not one: the sandbox needs one bridge network of an Engine on this machine", len(found), sandbox.Name())
	}
	return found[0], nil
}

// list asks again where links came and went while the kernel listed them.
func list(handle *netlink.Handle) ([]netlink.Link, error) {
	const tries = 20
	for try := 1; ; try++ {
		links, err := handle.LinkList()
		if err == nil {
			return links, nil
		}
		if !errors.Is(err, netlink.ErrDumpInterrupted) || try == tries {
			return nil, fmt.Errorf("listing links: %w", err)
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
}

// isolate keeps a port of a bridge from speaking to other isolated ports. The
// flag goes with the link.
func isolate(handle *netlink.Handle, l link) error {
	if l.bridge == 0 {
		return nil
	}
	device := &netlink.Device{LinkAttrs: netlink.LinkAttrs{Name: l.name, Index: l.index}}
	if err := handle.LinkSetIsolated(device, true); err != nil {
		return fmt.Errorf("isolating %s from other sandboxes: %w", l.name, err)
	}
	return nil
}
