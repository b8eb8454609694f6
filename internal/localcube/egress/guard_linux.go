package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
)

// mark is what a sandbox's table puts on packets that pass; the guard takes it off.
const mark = 0x68626f78

// guardPrefix is no prefix of a sandbox's table.
const guardPrefix = "hermesbox.guard-"

// Guard closes the bridge of that name, in the namespace at path host, to
// every sandbox on it that has no rules: nothing gets from the bridge to the
// host or beyond but what a sandbox's rules let pass. Call it before the first
// sandbox starts, then none has a moment of freedom before its Apply. It is for
// a bridge of the sandboxes' own; calling it twice is the same as once. A bridge
// that is not there is an ErrUnsupported: the Engine's are on another machine.
func Guard(ctx context.Context, host, bridge string) (release func(context.Context) error, err error) {
	if !isDevice(bridge) {
		return nil, fmt.Errorf("guarding a bridge: %q is no name of an interface", bridge)
	}
	c, err := at(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("guarding bridge %s: %w", bridge, err)
	}
	defer c.close()
	if err := mustExist(c.host, bridge); err != nil {
		return nil, fmt.Errorf("guarding bridge %s: %w", bridge, err)
	}
	if err := closeBridge(c.Conn, bridge); err != nil {
		return nil, fmt.Errorf("guarding bridge %s: %w", bridge, err)
	}
	return func(ctx context.Context) error { return Unguard(ctx, host, bridge) }, nil
}

// Unguard removes the guard of a bridge, if it has one, whichever run put it
// there and whether or not the bridge is still there.
func Unguard(ctx context.Context, host, bridge string) error {
	if !isDevice(bridge) {
		return fmt.Errorf("removing a guard: %q is no name of an interface", bridge)
	}
	return removeTable(ctx, host, guardPrefix+bridge)
}

func isDevice(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9._-]{1,15}$`).MatchString(name)
}

// mustExist is for kernels that take hooks on devices to come (6.16 and newer).
func mustExist(host *os.File, device string) error {
	return withLinks(host, func(handle *netlink.Handle) error {
		_, err := handle.LinkByName(device)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return fmt.Errorf("%w: the Engine's bridges are not on this machine: %w", ErrUnsupported, err)
		}
		return err
	})
}

// guardChain is to be renamed with any change of its rules.
const guardChain = "ingress"

// closeBridge leaves a guard that stands as it is: while it is replaced, packets may meet both.
func closeBridge(c *nftables.Conn, bridge string) error {
	chains, err := c.ListChainsOfTableFamily(nftables.TableFamilyNetdev)
	if err != nil {
		return fmt.Errorf("listing chains: %w", err)
	}
	for _, chain := range chains {
		if chain.Table.Name == guardPrefix+bridge && chain.Name == guardChain { // it goes with its device
			return nil
		}
	}
	addGuard(c, bridge)
	return c.Flush()
}

func addGuard(c *nftables.Conn, bridge string) {
	t := &nftables.Table{Name: guardPrefix + bridge, Family: nftables.TableFamilyNetdev}
	c.AddTable(t)
	c.DelTable(t)
	c.AddTable(t)
	policy := nftables.ChainPolicyDrop
	chain := c.AddChain(&nftables.Chain{
		Table: t, Name: guardChain, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookIngress,
		Priority: nftables.ChainPriorityFilter, Device: bridge, Policy: &policy,
	})
	c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: rule(marked(), unmark(), accept())})
}

func marked() exprs {
	return rule(exprs{&expr.Meta{Key: expr.MetaKeyMARK, Register: reg}}, equal(binary.NativeEndian.AppendUint32(nil, mark)...))
}

// unmark leaves the host's own rules nothing to wonder about.
func unmark() exprs {
	return exprs{
		&expr.Immediate{Register: reg, Data: make([]byte, 4)},
		&expr.Meta{Key: expr.MetaKeyMARK, Register: reg, SourceRegister: true},
	}
}
