package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/node"
	"github.com/hermesbox/hermesbox/internal/sshdial"
)

// nodeAdvices go from the most to the least telling.
var nodeAdvices = []advice{
	{node.ErrNotRoot, exitUsage, `log in as root, or set the node's become in hermesbox.yaml, such as "sudo -n"`},
	{node.ErrBecome, exitFailed, "let that user become root without a password (NOPASSWD in sudoers, nopass in doas.conf), or log in as root"},
	{node.ErrNotStarted, exitFailed, "ssh to the node by hand and run /bin/sh there; the login shell must start it"},
	{sshdial.ErrLost, exitFailed, "look at the network and at the node; then run the same command again"},
	{sshdial.ErrClosed, exitFailed, "look at the network and at the node; then run the same command again"},
	{node.ErrUnfinished, exitFailed, "look at the node, then run the same command again"},
	{node.ErrSignal, exitFailed, "something on the node killed it: look at its memory (dmesg), then run the same command again"},
}

// nodeFailed gives an error of a node its exit code and the next step. Other
// errors pass as they are.
func nodeFailed(err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	if code, hint, ok := adviseSSH(err); ok {
		return &failure{err: err, code: code, hint: hint}
	}
	var dir *node.DirError
	if errors.As(err, &dir) {
		return &failure{err: err, code: exitFailed, hint: dirHint(dir)}
	}
	for _, a := range nodeAdvices {
		if errors.Is(err, a.is) {
			return &failure{err: err, code: a.code, hint: a.hint}
		}
	}
	return err
}

// dirHint is the next step after a directory that could not be made. The node
// tells why in words only.
func dirHint(e *node.DirError) string {
	says := func(words string) bool { return strings.Contains(e.Problem, words) }
	switch {
	case says("it is a link"):
		return "see who made it and where it leads, and remove it: hermesbox follows no link"
	case says("it is no directory"), says("Not a directory"):
		return "move it away, or name another shared_root"
	case says("Read-only file system"):
		return "mount it read-write on the node"
	case says("No space left"), says("quota"):
		return "make room on the node"
	}
	return "make it by hand on the node to see why; then run the same command again"
}

// adviseSSH is about connections that could not be made.
func adviseSSH(err error) (code int, hint string, ok bool) {
	var auth *sshdial.AuthError
	var key *sshdial.HostKeyError
	var config *sshdial.ConfigError
	var target *sshdial.TargetError
	var reach *sshdial.UnreachableError
	switch {
	case errors.As(err, &auth):
		return exitAuth, authHint(auth), true
	case errors.As(err, &key):
		return exitFailed, hostKeyHint(key), true
	case errors.As(err, &config) && config.Unsupported:
		return exitUsage, "remove it for this host, or give hermesbox a Host entry of its own without it", true
	case errors.As(err, &config):
		return exitUsage, "mend it; ssh -G HOST reads the same files", true
	case errors.As(err, &target):
		return exitUsage, "write [user@]host[:port]", true
	case errors.As(err, &reach):
		return exitFailed, reachHint(reach), true
	}
	return 0, "", false
}

func authHint(e *sshdial.AuthError) string {
	switch {
	case e.RefusesKeys():
		return "hermesbox logs in with keys only: allow PubkeyAuthentication on the node"
	case e.Partial:
		return "hermesbox gives a key and nothing more: let a key be enough for this user (AuthenticationMethods publickey)"
	case e.TooMany:
		return "name the one key for this host with IdentityFile and IdentitiesOnly yes in ~/.ssh/config"
	case e.TooOpen() != "":
		return fmt.Sprintf("chmod 600 '%s': a key that others can read is not used", printable(e.TooOpen()))
	case len(e.Offered) == 0:
		return "load a key into the agent with ssh-add, or name its file with IdentityFile in ~/.ssh/config"
	}
	return fmt.Sprintf("put one of these keys into the authorized_keys of %s on the node, or load another with ssh-add", printable(e.User))
}

// hostKeyHint never says to trust what was not compared.
func hostKeyHint(e *sshdial.HostKeyError) string {
	const compare = "compare the fingerprint with what ssh-keygen -lf shows of /etc/ssh/ssh_host_*_key.pub on the node's own console"
	switch e.Kind {
	case sshdial.Revoked:
		return "do not connect: someone marked this key as stolen; ask who runs the node for its new one"
	case sshdial.Weak:
		return "give the node a longer host key, or one of ed25519 (ssh-keygen -A makes it); RequiredRSASize in ~/.ssh/config is the limit"
	case sshdial.Changed:
		return fmt.Sprintf("somebody may be in between. If the node was made anew, %s; only where they are the same, ssh-keygen -R '%s' and connect once with ssh", compare, printable(e.Name))
	}
	return compare + "; where they are the same, connect once with ssh and accept it"
}

func reachHint(e *sshdial.UnreachableError) string {
	switch e.Cause {
	case sshdial.Refused:
		return "no SSH server listens there: check the port in nodes[].ssh, and that sshd runs"
	case sshdial.NoSuchHost:
		return "check the name in nodes[].ssh, HostName in ~/.ssh/config, and the resolver"
	case sshdial.NotSSH:
		return "something else listens there, or a server too old: check the port in nodes[].ssh"
	case sshdial.Forbidden:
		return "the jump host does not forward: allow AllowTcpForwarding there"
	}
	return "check the address in nodes[].ssh, that the node is up, and the network in between; ssh -v shows more"
}
