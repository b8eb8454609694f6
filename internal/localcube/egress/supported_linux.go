package egress

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Supported tells whether Apply can work, by doing the same in a namespace
// made for it that vanishes again. The error wraps ErrUnsupported and says why:
// not root, or a kernel without what it takes.
func Supported() error {
	scratch, err := scratchNetNS()
	if err != nil {
		return fmt.Errorf("%w: making a network namespace: %w; run as root", ErrUnsupported, err)
	}
	defer func() { _ = scratch.Close() }() // closing it is what removes the namespace
	t := Target{ID: "supported", Address: netip.MustParseAddr("192.0.2.1"), MAC: make(net.HardwareAddr, 6)}
	if err := enforce(scratch, t, link{name: "lo", index: 1}, Rules{Internet: true}); err != nil {
		return fmt.Errorf("%w: the kernel needs nftables with ingress and egress hooks for devices, as Linux 5.16 or newer has: %w", ErrUnsupported, err)
	}
	return nil
}

// scratchNetNS makes a network namespace that lasts until the file is closed.
func scratchNetNS() (*os.File, error) {
	type made struct {
		file *os.File
		err  error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- made{err: err}
			return
		}
		file, err := os.Open("/proc/thread-self/ns/net")
		done <- made{file, err}
	}()
	m := <-done
	return m.file, m.err
}
