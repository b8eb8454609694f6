package sshdial

import (
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// files are the keys and certificates of files. Certificates that are not
// configured lie beside their keys.
func (a *auth) files(held []ssh.Signer) []identity {
	var ids []identity
	for _, path := range a.set.identities {
		id := a.readIdentity(path)
		if id.absent {
			if a.set.explicit {
				a.skip(Key{From: path}, "no such file")
			}
			continue
		}
		ids = append(ids, id)
		if len(a.set.certificates) > 0 {
			continue
		}
		for _, name := range []string{path + "-cert.pub", strings.TrimSuffix(path, ".pub") + "-cert.pub"} {
			if cert, ok := readPublic(name).(*ssh.Certificate); ok && !hasKey(ids, cert) {
				ids = append(ids, certified(name, cert, ids, held))
			}
		}
	}
	for _, path := range a.set.certificates {
		cert, ok := readPublic(path).(*ssh.Certificate)
		if !ok {
			a.skip(Key{From: path}, "it is not a certificate that can be read")
			continue
		}
		ids = append(ids, certified(path, cert, ids, held))
	}
	return ids
}

func hasKey(ids []identity, key ssh.PublicKey) bool {
	return slices.ContainsFunc(ids, func(id identity) bool { return id.public != nil && equal(id.public, key) })
}

// certified joins a certificate with the private key it is for, of a file or
// else of the agent.
func certified(path string, cert *ssh.Certificate, ids []identity, held []ssh.Signer) identity {
	id := identity{path: path, public: cert, reason: "its private key is in no file and not in the agent"}
	for _, other := range ids {
		if other.public != nil && equal(other.public, cert.Key) && other.signer == nil {
			id.reason = other.reason
		} else if other.signer != nil {
			held = append([]ssh.Signer{other.signer}, held...)
		}
	}
	for _, signer := range held {
		if !equal(signer.PublicKey(), cert.Key) {
			continue
		}
		joined, err := ssh.NewCertSigner(cert, signer)
		if err != nil {
			id.reason = err.Error()
			continue
		}
		id.signer = joined
		return id
	}
	return id
}

// order puts the keys in OpenSSH's order: those of the agent that are
// configured, the agent's others unless IdentitiesOnly, then files.
func (a *auth) order(files []identity, held []ssh.Signer) {
	var others []ssh.Signer
	for _, signer := range held {
		i := slices.IndexFunc(files, func(id identity) bool { return id.public != nil && equal(id.public, signer.PublicKey()) })
		switch {
		case i >= 0:
			files = slices.Delete(files, i, i+1)
			a.add(agentSource, signer)
		case a.set.identitiesOnly:
			a.skip(keyOf(agentSource, signer.PublicKey()), "IdentitiesOnly")
		default:
			others = append(others, signer)
		}
	}
	for _, signer := range others {
		a.add(agentSource, signer)
	}
	for _, id := range files {
		if id.signer == nil {
			a.skip(keyOf(id.path, id.public), id.reason)
			continue
		}
		a.add(id.path, id.signer)
	}
}

// add has a key offered, with the algorithms that may be used.
func (a *auth) add(from string, signer ssh.Signer) {
	key := keyOf(from, signer.PublicKey())
	limited, reason := a.set.algorithms.limit(signer)
	if reason != "" {
		a.skip(key, reason)
		return
	}
	a.keys = append(a.keys, offer{key, limited})
}

func keyOf(from string, public ssh.PublicKey) Key {
	k := Key{From: from}
	if public != nil {
		k.Type, k.Fingerprint = typeName(public), ssh.FingerprintSHA256(public)
	}
	return k
}
