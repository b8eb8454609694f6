package egress

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// exprs is a rule or a part of one. A part that does not match ends its rule.
type exprs []expr.Any

// rule joins parts.
func rule(parts ...exprs) exprs { return slices.Concat(parts...) }

const (
	etherARP  = 0x0806
	etherIPv4 = 0x0800

	portDNS = 53

	flagFIN, flagSYN, flagRST, flagACK = 0x01, 0x02, 0x04, 0x10
)

// Registers of nftables: the first of 16 bytes, then its second and third quarter.
const (
	reg  = unix.NFT_REG_1
	reg2 = unix.NFT_REG32_00 + 1
	reg3 = unix.NFT_REG32_00 + 2
)

func load(base expr.PayloadBase, offset, size, register uint32) exprs {
	return exprs{&expr.Payload{DestRegister: register, Base: base, Offset: offset, Len: size}}
}

func ether(offset, size uint32) exprs {
	return load(expr.PayloadBaseLLHeader, offset, size, reg)
}

func network(offset, size uint32) exprs {
	return load(expr.PayloadBaseNetworkHeader, offset, size, reg)
}

func equal(value ...byte) exprs {
	return exprs{&expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: value}}
}

func differs(value ...byte) exprs {
	return exprs{&expr.Cmp{Op: expr.CmpOpNeq, Register: reg, Data: value}}
}

func masked(mask ...byte) exprs {
	return exprs{&expr.Bitwise{SourceRegister: reg, DestRegister: reg, Len: uint32(len(mask)), Mask: mask, Xor: make([]byte, len(mask))}}
}

// etherType matches the type as it stands in the frame: of a VLAN-tagged frame
// that is the tag's, where the kernel's own notion of protocol looks inside.
func etherType(value uint16) exprs {
	return rule(ether(12, 2), equal(binary.BigEndian.AppendUint16(nil, value)...))
}

// protocolIPv4 is for the way out of the host, where frames are the host's own.
func protocolIPv4() exprs {
	return rule(exprs{&expr.Meta{Key: expr.MetaKeyPROTOCOL, Register: reg}}, equal(binary.BigEndian.AppendUint16(nil, etherIPv4)...))
}

func source() exprs { return network(12, 4) }

func destination() exprs { return network(16, 4) }

func tcp() exprs { return rule(network(9, 1), equal(unix.IPPROTO_TCP)) }

func udp() exprs { return rule(network(9, 1), equal(unix.IPPROTO_UDP)) }

// query matches what goes to port 53. It never matches a fragment but the
// first, which has no ports.
func query() exprs {
	return rule(load(expr.PayloadBaseTransportHeader, 2, 2, reg), equal(0, portDNS))
}

// tcpFlags loads those of mask.
func tcpFlags(mask byte) exprs {
	return rule(load(expr.PayloadBaseTransportHeader, 13, 1, reg), masked(mask))
}

// opens matches the first packet of a TCP connection.
func opens() exprs { return rule(tcpFlags(flagSYN|flagACK), equal(flagSYN)) }

// closes matches TCP packets that end a connection or one half of it.
func closes() exprs { return rule(tcpFlags(flagFIN|flagRST), differs(0)) }

// inbound loads the key of a flow from a packet to the sandbox: the other
// side's address and port, the sandbox's port.
func inbound() exprs {
	return rule(source(), load(expr.PayloadBaseTransportHeader, 0, 2, reg2), load(expr.PayloadBaseTransportHeader, 2, 2, reg3))
}

// outbound loads the same key from a packet of the sandbox.
func outbound() exprs {
	return rule(destination(), load(expr.PayloadBaseTransportHeader, 2, 2, reg2), load(expr.PayloadBaseTransportHeader, 0, 2, reg3))
}

// in matches where the loaded key is in the set.
func in(s *nftables.Set) exprs {
	return exprs{&expr.Lookup{SourceRegister: reg, SetName: s.Name, SetID: s.ID}}
}

// keep puts the loaded key into the set, for so long.
func keep(s *nftables.Set, d time.Duration) exprs {
	return exprs{&expr.Dynset{SrcRegKey: reg, SetName: s.Name, SetID: s.ID, Operation: unix.NFT_DYNSET_OP_UPDATE, Timeout: d}}
}

// forget takes the loaded key out of the set.
func forget(s *nftables.Set) exprs {
	const opDelete = 2 // NFT_DYNSET_OP_DELETE of linux/netfilter/nf_tables.h
	return exprs{&expr.Dynset{SrcRegKey: reg, SetName: s.Name, SetID: s.ID, Operation: opDelete}}
}

// pass lets the packet through, with the mark that Guard asks for.
func pass() exprs {
	return exprs{
		&expr.Immediate{Register: reg, Data: binary.NativeEndian.AppendUint32(nil, mark)},
		&expr.Meta{Key: expr.MetaKeyMARK, Register: reg, SourceRegister: true},
		&expr.Verdict{Kind: expr.VerdictAccept},
	}
}

func accept() exprs { return exprs{&expr.Verdict{Kind: expr.VerdictAccept}} }

func drop() exprs { return exprs{&expr.Verdict{Kind: expr.VerdictDrop}} }

func back() exprs { return exprs{&expr.Verdict{Kind: expr.VerdictReturn}} }

func jump(c *nftables.Chain) exprs {
	return exprs{&expr.Verdict{Kind: expr.VerdictJump, Chain: c.Name}}
}

// reset answers a TCP packet with a RST, as CubeVS does.
func reset() exprs { return exprs{&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}} }
