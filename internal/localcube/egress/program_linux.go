package egress

import (
	"net"
	"time"

	"github.com/google/nftables"
)

// How long a connection into the sandbox is remembered, from its last packet
// on: before its handshake is done, then, and when it is being closed.
const (
	opening     = 2 * time.Minute
	established = 24 * time.Hour
	ending      = 2 * time.Minute
)

// program is the rules of one of the table's chains, in order.
func (x *table) program(chain *nftables.Chain, t Target) []exprs {
	switch chain {
	case x.ingress:
		return append(x.genuine(t), x.judged(t)...)
	case x.reply:
		return x.replies()
	}
	return x.noting()
}

// genuine ends what the sandbox cannot have sent honestly, and lets ARP pass.
func (x *table) genuine(t Target) []exprs {
	address := t.Address.As4()
	return []exprs{
		rule(ether(6, 6), differs(t.MAC...), drop()),
		rule(etherType(etherARP), network(8, 6), differs(t.MAC...), drop()),
		rule(etherType(etherARP), network(14, 4), equal(address[:]...), pass()),
		rule(etherType(etherARP), network(14, 4), equal(0, 0, 0, 0), pass()), // a probe
		rule(ether(12, 2), differs(etherIPv4>>8, etherIPv4&0xff), drop()),
		rule(network(0, 1), differs(0x45), drop()), // version 4, a header without options
		rule(source(), differs(address[:]...), drop()),
	}
}

// judged is Rules.Decide, behind the replies.
func (x *table) judged(t Target) []exprs {
	rules := []exprs{
		rule(tcp(), jump(x.reply)),
		rule(destination(), in(x.never), drop()),
	}
	if t.Network.IsValid() {
		rules = append(rules, neighbours(t)...)
	}
	return append(rules,
		rule(destination(), in(x.allow), pass()),
		rule(udp(), query(), destination(), in(x.resolvers), pass()),
		rule(tcp(), query(), destination(), in(x.resolvers), pass()),
		rule(destination(), in(x.deny), tcp(), reset()),
		rule(destination(), in(x.deny), drop()),
		pass(),
	)
}

// neighbours ends what goes to an address of the sandboxes' network that is
// not the gateway's.
func neighbours(t Target) []exprs {
	gateway := t.Network.Addr().As4()
	mask := net.CIDRMask(t.Network.Bits(), 32)
	first := t.Network.Masked().Addr().As4()
	elsewhere := rule(destination(), differs(gateway[:]...), masked(mask...), equal(first[:]...))
	return []exprs{rule(elsewhere, tcp(), reset()), rule(elsewhere, drop())}
}

// noting watches packets to the sandbox; it lets all of them pass. What keeps a
// connection in mind is the sandbox's own packets: it acknowledges what it gets.
func (x *table) noting() []exprs {
	return []exprs{
		rule(protocolIPv4(), tcp(), opens(), inbound(), keep(x.flows, opening), accept()),
		rule(protocolIPv4(), tcp(), closes(), inbound(), in(x.flows), keep(x.closing, ending), forget(x.flows), accept()),
	}
}

// replies passes what belongs to a noted connection and does not open one.
func (x *table) replies() []exprs {
	return []exprs{
		rule(opens(), back()),
		rule(closes(), outbound(), in(x.flows), keep(x.closing, ending), forget(x.flows), pass()),
		rule(outbound(), in(x.flows), keep(x.flows, established), pass()),
		rule(outbound(), in(x.closing), keep(x.closing, ending), pass()),
	}
}
