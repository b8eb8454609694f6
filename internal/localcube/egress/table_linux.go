package egress

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
)

const (
	prefix   = "hermesbox-"
	maxFlows = 65536
	// perMessage keeps a list of set elements well below the 64 KiB of a netlink attribute.
	perMessage = 500
)

// A table is one sandbox's table of nftables.
type table struct {
	*nftables.Table
	allow, deny, never, resolvers *nftables.Set
	// flows are connections into the sandbox, closing those with a FIN or RST behind them.
	flows, closing         *nftables.Set
	ingress, egress, reply *nftables.Chain
}

// newTable only names things. The names of the chains carry a digest of all
// that their program is made of, so that a look at the names tells whether a
// table that is already there can be kept.
func newTable(t Target, l link) *table {
	x := &table{Table: &nftables.Table{Name: prefix + t.ID, Family: nftables.TableFamilyNetdev}}
	shape := shape(t, l)
	x.ingress = x.hook("ingress-"+shape, nftables.ChainHookIngress, l.name, nftables.ChainPolicyDrop)
	x.egress = x.hook("egress-"+shape, nftables.ChainHookEgress, l.name, nftables.ChainPolicyAccept)
	x.reply = &nftables.Chain{Table: x.Table, Name: "reply-" + shape}
	x.allow, x.deny, x.never = x.addresses(1, "allow"), x.addresses(2, "deny"), x.addresses(3, "never")
	x.resolvers = x.addresses(6, "resolvers")
	x.flows, x.closing = x.connections(4, "flows"), x.connections(5, "closing")
	return x
}

// shape is the digest. The version is to be raised with any change of the program.
func shape(t Target, l link) string {
	const version = 2
	sum := sha256.Sum256(fmt.Appendln(nil, version, l.name, l.index, t.Address, t.MAC, t.Network))
	return fmt.Sprintf("%x", sum[:6])
}

func (x *table) hook(name string, at *nftables.ChainHook, device string, policy nftables.ChainPolicy) *nftables.Chain {
	return &nftables.Chain{
		Table: x.Table, Name: name, Type: nftables.ChainTypeFilter,
		Hooknum: at, Priority: nftables.ChainPriorityFilter, Device: device, Policy: &policy,
	}
}

// addresses is a set of ranges. The library would number sets from a variable
// that concurrent connections share; numbers count within one transaction only.
func (x *table) addresses(id uint32, name string) *nftables.Set {
	return &nftables.Set{Table: x.Table, ID: id, Name: name, KeyType: nftables.TypeIPAddr, Interval: true, KeyByteOrder: binaryutil.BigEndian}
}

func (x *table) connections(id uint32, name string) *nftables.Set {
	key := nftables.MustConcatSetType(nftables.TypeIPAddr, nftables.TypeInetService, nftables.TypeInetService)
	return &nftables.Set{Table: x.Table, ID: id, Name: name, KeyType: key, Dynamic: true, HasTimeout: true, Timeout: opening, Size: maxFlows}
}

// install adds to the transaction of c what makes the table anew, whatever was there.
func (x *table) install(c *nftables.Conn, t Target, r Rules) error {
	c.AddTable(x.Table) // so that there is one to delete
	c.DelTable(x.Table)
	c.AddTable(x.Table)
	for _, s := range []*nftables.Set{x.allow, x.deny, x.never, x.resolvers, x.flows, x.closing} {
		if err := c.AddSet(s, nil); err != nil {
			return fmt.Errorf("adding set %s: %w", s.Name, err)
		}
	}
	if err := fill(c, x.never, never()); err != nil {
		return err
	}
	for _, chain := range []*nftables.Chain{x.reply, x.ingress, x.egress} {
		c.AddChain(chain)
		for _, rule := range x.program(chain, t) {
			c.AddRule(&nftables.Rule{Table: x.Table, Chain: chain, Exprs: rule})
		}
	}
	return x.put(c, r)
}

// update adds to the transaction of c what replaces the rules of a table that stays.
func (x *table) update(c *nftables.Conn, r Rules) error {
	c.FlushSet(x.allow)
	c.FlushSet(x.deny)
	c.FlushSet(x.resolvers)
	return x.put(c, r)
}

func (x *table) put(c *nftables.Conn, r Rules) error {
	for _, data := range []struct {
		set      *nftables.Set
		prefixes []netip.Prefix
	}{{x.allow, r.Allow}, {x.resolvers, r.resolvers()}, {x.deny, r.denied()}} {
		if err := fill(c, data.set, data.prefixes); err != nil {
			return err
		}
	}
	return nil
}

func fill(c *nftables.Conn, s *nftables.Set, prefixes []netip.Prefix) error {
	elements := elements(spans(prefixes))
	for len(elements) > 0 {
		n := min(perMessage, len(elements))
		if err := c.SetAddElements(s, elements[:n]); err != nil {
			return fmt.Errorf("filling set %s: %w", s.Name, err)
		}
		elements = elements[n:]
	}
	return nil
}

// elements writes ranges as the kernel takes them: a start and, one behind the
// last address, an end; a range up to the last address of all has none.
func elements(spans []span) []nftables.SetElement {
	var list []nftables.SetElement
	for _, s := range spans {
		list = append(list, nftables.SetElement{Key: binary.BigEndian.AppendUint32(nil, s.first)})
		if end := s.last + 1; end != 0 {
			list = append(list, nftables.SetElement{Key: binary.BigEndian.AppendUint32(nil, end), IntervalEnd: true})
		}
	}
	return list
}
