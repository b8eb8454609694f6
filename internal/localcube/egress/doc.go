// Package egress enforces the outbound rules of local sandboxes on Linux.
//
// Rules says what a sandbox may reach, in CubeVS's order: allow, deny with the
// five built-in ranges, default. Apply makes the kernel of the sandbox's host
// keep to it; List and Remove clean up after a run that was killed; Guard keeps
// a bridge's sandboxes closed until Apply has been called for them.
//
// # Where, and why there
//
// A sandbox is a network namespace joined to its host by a veth pair, and root
// inside it may flush rules, change routes and write raw frames. So nothing is
// put inside. The rules are two nftables chains of the netdev family on the
// host's end of the pair, in the host's namespace: the ingress hook there is
// passed by every frame that leaves the sandbox, whichever socket it came from
// and before bridge, routing and NAT see it. One table a sandbox,
// "hermesbox-<ID>", survives this process and is removed as a whole.
//
// Connection tracking happens behind that hook, so the usual "established,
// related" cannot be asked. The table keeps its own record instead: the egress
// hook of the same device sees a TCP connection being opened towards the
// sandbox and notes its addresses and ports in a set, and only what answers to
// an entry passes against the rules, never a packet that opens a connection.
// An entry lasts two minutes until the sandbox answers, a day after each of
// its answers then, and two minutes after the first FIN or RST. When the set is full
// (65536) further connections to the sandbox get no answer.
//
// A frame must also bear the sandbox's own MAC and IPv4 address, and no IP
// options, so that a neighbour's rules cannot be borrowed nor a router told to
// go round them. Everything but ARP and IPv4 is dropped, IPv6 and VLAN tags
// included. Denied TCP is reset, as CubeVS does; the rest vanishes. Of a
// resolver in Rules.DNS, port 53 alone passes. Whatever the rules say, the
// loopback, "this network", multicast and reserved ranges never pass, nor does
// traffic to another sandbox (Target.Network).
//
// # Invariants
//
// The program of the chains is the same for all rules, which are only data in
// three sets. Applying other rules replaces that data in one transaction: no
// packet sees half of it, and connections into the sandbox live on. Nothing of
// the host's own is touched: no table but those named hermesbox-…, no address,
// no route; on the sandbox's own bridge port, the flag that keeps it from
// speaking to other isolated ports is set.
//
// # What it does not do
//
// It knows no domain names and no rules for HTTP. Inbound UDP and ping are
// answered only where the rules let the sandbox reach the sender. It is no
// security boundary: a container shares the kernel of its host.
//
// It needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN), and Linux 5.16 or newer, the
// first with an egress hook of the netdev family. Supported finds out by trying
// it all in a namespace that nobody uses.
package egress
