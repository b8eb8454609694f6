package sshdial

import (
	"crypto/rsa"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// algorithms are those that a connection may use, in order of preference.
type algorithms struct {
	kex, ciphers, macs []string
	hostKeys           []string
	// reorder: what known_hosts vouches for goes first.
	reorder bool
	// userKeys are for keys that are offered, authorities for what certificates
	// of hosts are signed with.
	userKeys, authorities []string
	// rsaBits is the least length of an RSA key.
	rsaBits int
}

// Those of OpenSSH 9, in its order, less what needs a security key to be tried out.
var (
	certAlgorithms = []string{
		ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
	}
	plainAlgorithms = []string{
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
	}
	// securityKeys sign in an agent.
	securityKeys = []string{
		ssh.CertAlgoSKED25519v01, ssh.CertAlgoSKECDSA256v01, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
	}
	// weakAlgorithms are there for who asks for them.
	weakAlgorithms = []string{ssh.KeyAlgoRSA, ssh.CertAlgoRSAv01}
)

// minRSA is OpenSSH's.
const minRSA = 1024

func settleAlgorithms(s *settings, opts set, _ local) error {
	var standard ssh.Config
	standard.SetDefaults()
	good, weak := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	all := slices.Concat(certAlgorithms, plainAlgorithms)
	keys := slices.Concat(all, securityKeys)
	a := &s.algorithms
	lists := []struct {
		name                string
		to                  *[]string
		standard, supported []string
	}{
		{"kexalgorithms", &a.kex, standard.KeyExchanges, slices.Concat(good.KeyExchanges, weak.KeyExchanges)},
		{"ciphers", &a.ciphers, standard.Ciphers, slices.Concat(good.Ciphers, weak.Ciphers)},
		{"macs", &a.macs, standard.MACs, slices.Concat(good.MACs, weak.MACs)},
		{"hostkeyalgorithms", &a.hostKeys, all, slices.Concat(all, weakAlgorithms)},
		{"pubkeyacceptedalgorithms", &a.userKeys, keys, slices.Concat(keys, weakAlgorithms)},
		{"casignaturealgorithms", &a.authorities, slices.Concat(plainAlgorithms, securityKeys), slices.Concat(plainAlgorithms, securityKeys, weakAlgorithms)},
	}
	for _, l := range lists {
		*l.to = l.standard
		o, ok := opts.first(l.name)
		if !ok {
			continue
		}
		if *l.to = choose(o.args[0], l.standard, l.supported); len(*l.to) == 0 {
			return o.fault("hermesbox has none of these algorithms")
		}
	}
	spec := opts.value("hostkeyalgorithms")
	a.reorder = spec == "" || spec[0] == '+' || spec[0] == '-'
	a.rsaBits, _ = strconv.Atoi(opts.value("requiredrsasize")) // checked when it was read
	a.rsaBits = max(a.rsaBits, minRSA)
	return nil
}

// choose follows a list of ssh_config: names replace the standard ones, after +
// they are added, after ^ put first, after - taken away. Those that are not
// supported are passed over, as a server's are.
func choose(spec string, standard, supported []string) []string {
	names := strings.Split(strings.TrimLeft(spec, "+-^"), ",")
	var named []string
	for _, n := range names {
		for _, s := range slices.Concat(supported, standard) {
			if matchPattern(s, n) && !slices.Contains(named, s) {
				named = append(named, s)
			}
		}
	}
	without := slices.DeleteFunc(slices.Clone(standard), func(s string) bool { return slices.Contains(named, s) })
	switch spec[0] {
	case '+':
		return slices.Concat(standard, slices.DeleteFunc(named, func(s string) bool { return slices.Contains(standard, s) }))
	case '-':
		return without
	case '^':
		return slices.Concat(named, without)
	}
	return named
}

// limit gives the signer with the algorithms that may be used, or says why
// there is none.
func (a *algorithms) limit(signer ssh.Signer) (ssh.Signer, string) {
	key := plainKey(signer.PublicKey())
	if bits := rsaBits(key); bits > 0 && bits < a.rsaBits {
		return nil, fmt.Sprintf("it has %d bits, and at least %d are wanted", bits, a.rsaBits)
	}
	cert, certified := key.(*ssh.Certificate)
	var allowed []string
	for _, name := range a.userKeys {
		switch {
		case name == key.Type():
			allowed = append(allowed, strings.Replace(name, "-cert-v01@openssh.com", "", 1))
		case certified && cert.Key.Type() == ssh.KeyAlgoRSA && strings.HasPrefix(name, "rsa-sha2-") && strings.HasSuffix(name, "-cert-v01@openssh.com"),
			key.Type() == ssh.KeyAlgoRSA && keyType(name) == ssh.KeyAlgoRSA:
			allowed = append(allowed, strings.TrimSuffix(name, "-cert-v01@openssh.com"))
		}
	}
	if len(allowed) == 0 {
		return nil, "PubkeyAcceptedAlgorithms leaves its type out"
	}
	with, ok := signer.(ssh.AlgorithmSigner)
	if !ok || rsaBits(key) == 0 {
		return signer, ""
	}
	limited, err := ssh.NewSignerWithAlgorithms(with, allowed)
	if err != nil {
		return nil, strings.TrimPrefix(err.Error(), "ssh: ")
	}
	return limited, ""
}

// plainKey is a key that can be looked into: an agent's are not.
func plainKey(key ssh.PublicKey) ssh.PublicKey {
	if plain, err := ssh.ParsePublicKey(key.Marshal()); err == nil {
		return plain
	}
	return key
}

// rsaBits is the length of an RSA key, and 0 of another.
func rsaBits(key ssh.PublicKey) int {
	if cert, ok := key.(*ssh.Certificate); ok {
		key = cert.Key
	}
	public, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return 0
	}
	if k, ok := public.CryptoPublicKey().(*rsa.PublicKey); ok {
		return k.N.BitLen()
	}
	return 0
}

// keyType is the type of the keys that sign with an algorithm.
func keyType(algorithm string) string {
	if algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512 {
		return ssh.KeyAlgoRSA
	}
	return algorithm
}
