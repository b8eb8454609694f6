package sshtest

import (
	"crypto/rand"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// Certificate is how a key is certified.
type Certificate struct {
	CA         Key
	Principals []string
	// Until is when it expires; never by default.
	Until time.Time
	// Host: it is a host's, not a user's.
	Host bool
}

// Write certifies a key and writes the certificate to a file.
func (c Certificate) Write(t testing.TB, k Key, path string) {
	t.Helper()
	cert := &ssh.Certificate{
		Key: k.Signer.PublicKey(), CertType: ssh.UserCert, KeyId: "test", ValidPrincipals: c.Principals, ValidBefore: ssh.CertTimeInfinity,
		Permissions: ssh.Permissions{Extensions: map[string]string{"permit-pty": ""}},
	}
	if c.Host {
		cert.CertType, cert.Extensions = ssh.HostCert, nil
	}
	if !c.Until.IsZero() {
		cert.ValidBefore = uint64(c.Until.Unix())
	}
	if err := cert.SignCert(rand.Reader, c.CA.Signer); err != nil {
		t.Fatalf("certifying %s: %v", path, err)
	}
	writeFile(t, path, string(ssh.MarshalAuthorizedKey(cert)), 0o644)
}
