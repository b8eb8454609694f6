package egress

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/nftables"
	nl "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Apply makes the kernel enforce r for a running sandbox until release. For a
// sandbox that has rules it replaces them in one step, and connections into it
// go on; so it may be called again after a crash, or with other rules. A
// sandbox that was stopped and started needs it again.
//
// release removes the rules, whether or not the sandbox still runs; call it
// when the sandbox is gone. An error leaves the rules that were there before.
func Apply(ctx context.Context, t Target, r Rules) (release func(context.Context) error, err error) {
	if err := errors.Join(t.check(), r.Check(), ctx.Err()); err != nil {
		return nil, fmt.Errorf("applying egress rules: %w", err)
	}
	if err := apply(t, r); err != nil {
		return nil, fmt.Errorf("applying egress rules to sandbox %s: %w", t.ID, err)
	}
	return func(ctx context.Context) error { return Remove(ctx, t.Host, t.ID) }, nil
}

func apply(t Target, r Rules) error {
	sandbox, err := openNetNS(t.seen())
	if err != nil {
		return err
	}
	defer func() { _ = sandbox.Close() }() // only read from
	host, err := openNetNS(t.Host)
	if err != nil {
		return err
	}
	defer func() { _ = host.Close() }() // only read from
	return withLinks(host, func(handle *netlink.Handle) error {
		l, err := findLink(handle, sandbox)
		if err != nil {
			return err
		}
		if err := isolate(handle, l); err != nil {
			return err
		}
		return enforce(host, t, l, r)
	})
}

// enforce keeps a table of the same shape and makes any other anew.
func enforce(host *os.File, t Target, l link, r Rules) error {
	c, err := dial(host)
	if err != nil {
		return err
	}
	x := newTable(t, l)
	kept, err := x.stands(c)
	if err != nil {
		return err
	}
	if kept {
		err = x.update(c, r)
	} else {
		err = x.install(c, t, r)
	}
	if err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("committing table %s on %s: %w", x.Name, l.name, err)
	}
	return nil
}

// dial prepares transactions of nftables in the namespace.
func dial(host *os.File) (*nftables.Conn, error) {
	const largest = 8 << 20 // all entries of full sets travel as one message
	room := func(c *nl.Conn) error {
		return errors.Join(c.SetWriteBuffer(largest), c.SetReadBuffer(largest))
	}
	c, err := nftables.New(nftables.WithNetNSFd(int(host.Fd())), nftables.WithSockOptions(room))
	if err != nil {
		return nil, fmt.Errorf("speaking to nftables: %w", err)
	}
	return c, nil
}

// stands reports whether both hooks of this very shape are in place. A hook
// goes when its device does.
func (x *table) stands(c *nftables.Conn) (bool, error) {
	chains, err := c.ListChainsOfTableFamily(nftables.TableFamilyNetdev)
	if err != nil {
		return false, fmt.Errorf("listing chains: %w", err)
	}
	found := 0
	for _, chain := range chains {
		if chain.Table.Name == x.Name && (chain.Name == x.ingress.Name || chain.Name == x.egress.Name) {
			found++
		}
	}
	return found == 2, nil
}

// List names the sandboxes that have rules in the namespace at path host
// (empty: the caller's own), whichever run made them.
func List(ctx context.Context, host string) ([]string, error) {
	c, err := at(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("listing egress rules: %w", err)
	}
	defer c.close()
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyNetdev)
	if err != nil {
		return nil, fmt.Errorf("listing egress rules: %w", err)
	}
	var ids []string
	for _, t := range tables {
		if id, ours := strings.CutPrefix(t.Name, prefix); ours {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Remove removes the rules of a sandbox, if it has any, from the namespace at
// path host. While it runs it may then send what it likes, unless a Guard
// stands before it.
func Remove(ctx context.Context, host, id string) error {
	if !validID(id) {
		return fmt.Errorf("removing egress rules: %q is no sandbox ID", id)
	}
	return removeTable(ctx, host, prefix+id)
}

func removeTable(ctx context.Context, host, name string) error {
	c, err := at(ctx, host)
	if err != nil {
		return fmt.Errorf("removing table %s: %w", name, err)
	}
	defer c.close()
	c.DelTable(&nftables.Table{Name: name, Family: nftables.TableFamilyNetdev})
	if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("removing table %s: %w", name, err)
	}
	return nil
}

// conn is a connection that owns its namespace.
type conn struct {
	*nftables.Conn
	host *os.File
}

func (c conn) close() { _ = c.host.Close() } // only read from

func at(ctx context.Context, path string) (conn, error) {
	if err := ctx.Err(); err != nil {
		return conn{}, err
	}
	host, err := openNetNS(path)
	if err != nil {
		return conn{}, err
	}
	c, err := dial(host)
	if err != nil {
		_ = host.Close() // only read from
		return conn{}, err
	}
	return conn{c, host}, nil
}
