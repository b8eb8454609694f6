package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
)

// ErrUnsupported is what Supported and Apply wrap where rules cannot be enforced.
var ErrUnsupported = errors.New("egress rules are not enforced here")

// A Target is the sandbox that rules are for. Take every field from the
// Engine, none from inside the sandbox, whose root may lie.
type Target struct {
	// ID names the rules on this host, for List and Remove: 1-64 of [A-Za-z0-9._-].
	ID string
	// NetNS is the path of the sandbox's network namespace: "/proc/<pid>/ns/net",
	// with the pid that the Engine tells. Where Host is a process's namespace, the
	// path is the one that this process sees: an Engine may number processes, and
	// mount files, unlike the caller.
	NetNS string
	// Host is the path of the namespace that holds the other end of its link,
	// the Engine's own; empty means the caller's. EngineNetNS finds it.
	Host string
	// Address and MAC are those that the sandbox may send from.
	Address netip.Addr
	MAC     net.HardwareAddr
	// Network is the network of the sandboxes, written with the gateway's
	// address ("172.18.0.1/16"). Of it the gateway alone can be reached, if the
	// rules allow it. The zero value means that there are no neighbours.
	Network netip.Prefix
}

func (t Target) check() error {
	switch {
	case !validID(t.ID):
		return fmt.Errorf("sandbox ID %q is not 1 to 64 letters, digits, dots, dashes and underscores", t.ID)
	case t.NetNS == "":
		return fmt.Errorf("sandbox %s has no network namespace: is it running?", t.ID)
	case !t.Address.Is4():
		return fmt.Errorf("sandbox %s has the address %s, which is not IPv4", t.ID, t.Address)
	case len(t.MAC) != 6:
		return fmt.Errorf("sandbox %s has the MAC address %q, which is not of 6 bytes", t.ID, t.MAC)
	case t.Network.IsValid() && !t.Network.Addr().Is4():
		return fmt.Errorf("sandbox %s has the network %s, which is not IPv4", t.ID, t.Network)
	}
	return nil
}

// seen is NetNS as the caller sees it.
func (t Target) seen() string {
	process := regexp.MustCompile(`^(/proc/[0-9]+)/ns/net$`).FindStringSubmatch(t.Host)
	if process == nil {
		return t.NetNS
	}
	return process[1] + "/root" + t.NetNS
}

func validID(id string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`).MatchString(id)
}
