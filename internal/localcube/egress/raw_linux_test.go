package egress

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/internal/nettest"
)

// frame is an Ethernet frame with a UDP datagram to port 7, as root may write it.
type frame struct {
	from, to     net.HardwareAddr
	tag          []byte // between the addresses and the type
	etherType    uint16
	options      []byte // of the IPv4 header
	source, dest netip.Addr
	payload      string
}

// honest is a frame as the sandbox's own kernel would send it.
func honest(target Target, dest, payload string) frame {
	return frame{
		from: target.MAC, to: net.HardwareAddr{2, 0, 0, 0, 0, 1}, etherType: etherIPv4,
		source: target.Address, dest: netip.MustParseAddr(dest), payload: payload,
	}
}

func (f frame) bytes() []byte {
	head := slices.Concat(f.to, f.from, f.tag, binary.BigEndian.AppendUint16(nil, f.etherType))
	udp := binary.BigEndian.AppendUint16([]byte{0x30, 0x39, 0, 7}, uint16(8+len(f.payload)))
	udp = slices.Concat(udp, []byte{0, 0}, []byte(f.payload))
	size := 20 + len(f.options)
	ip := []byte{0x40 | byte(size/4), 0, 0, 0, 0, 1, 0, 0, 64, unix.IPPROTO_UDP, 0, 0}
	binary.BigEndian.PutUint16(ip[2:], uint16(size+len(udp)))
	ip = slices.Concat(ip, f.source.AsSlice(), f.dest.AsSlice(), f.options)
	binary.BigEndian.PutUint16(ip[10:], checksum(ip))
	return slices.Concat(head, ip, udp)
}

// send writes the frame to the sandbox's interface past every hook inside.
func send(t *testing.T, s nettest.Space, raw []byte) {
	t.Helper()
	s.Do(t, func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer closeFD(t, fd)
		device, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		return unix.Sendto(fd, raw, 0, &unix.SockaddrLinklayer{Ifindex: device.Index, Protocol: 0x0008, Halen: 6})
	})
}

func closeFD(t *testing.T, fd int) {
	t.Helper()
	if err := unix.Close(fd); err != nil {
		t.Errorf("closing a socket: %v", err)
	}
}

// listenRaw listens to all frames of a device, for 50 ms at a time; close it.
func listenRaw(t *testing.T, s nettest.Space, device string) int {
	t.Helper()
	var fd int
	s.Do(t, func() (err error) {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		link, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		const all = 0x0300 // ETH_P_ALL in network order
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: link.Index, Protocol: all})
	})
	return fd
}

// arrives reports whether a frame with payload in it shows on a device of s
// while f runs or shortly after.
func arrives(t *testing.T, s nettest.Space, device, payload string, f func()) bool {
	t.Helper()
	fd := listenRaw(t, s, device)
	defer closeFD(t, fd)
	f()
	return seen(fd, payload)
}

func seen(fd int, payload string) bool {
	buffer := make([]byte, 1<<16)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		size, _, err := unix.Recvfrom(fd, buffer, 0)
		if err == nil && bytes.Contains(buffer[:size], []byte(payload)) {
			return true
		}
	}
	return false
}
