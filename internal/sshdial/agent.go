package sshdial

import (
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// An agent lists its keys at once; before it signs, its user may be asked, or
// have to touch a security key. sshd waits for two minutes.
const (
	agentTime  = 5 * time.Second
	askingTime = 2 * time.Minute
)

// agentKeys are those the agent holds; one that does not answer holds none.
func (a *auth) agentKeys() []ssh.Signer {
	if a.set.agent == "" {
		return nil
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(a.guard.ctx, "unix", a.set.agent)
	if err != nil {
		a.skip(Key{From: agentSource}, "it does not answer: "+plainCause(err).Error())
		return nil
	}
	a.agent = conn
	a.guard.watch(conn)
	_ = conn.SetDeadline(time.Now().Add(agentTime)) // sockets have deadlines
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		a.skip(Key{From: agentSource}, "it does not answer: "+agentReason(err))
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(askingTime))
	return signers
}

func agentReason(err error) string {
	if strings.HasSuffix(err.Error(), os.ErrDeadlineExceeded.Error()) { // it is not wrapped
		return "timed out"
	}
	return strings.TrimPrefix(err.Error(), "agent: ")
}
