package egress

import (
	"context"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// EngineNetNS finds the network namespace of the process that listens on a
// Unix socket, for Target.Host: a Docker Engine need not share the caller's.
// It fails where that process is not of this machine.
func EngineNetNS(ctx context.Context, socket string) (string, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", fmt.Errorf("asking who listens on %s: %w", socket, err)
	}
	defer func() { _ = connection.Close() }() // nothing was sent
	pid, err := peer(connection.(*net.UnixConn))
	if err != nil {
		return "", fmt.Errorf("asking who listens on %s: %w", socket, err)
	}
	path := fmt.Sprintf("/proc/%d/ns/net", pid)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("finding the network of process %d, which listens on %s: %w", pid, socket, err)
	}
	return path, nil
}

func peer(c *net.UnixConn) (int32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var credentials *unix.Ucred
	var failure error
	err = raw.Control(func(fd uintptr) {
		credentials, failure = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return 0, err
	}
	if failure != nil {
		return 0, failure
	}
	return credentials.Pid, nil
}
