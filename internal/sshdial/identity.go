package sshdial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// identity is a key of a file. It is offered by its public part; the private
// part is read when the server takes it, so that no passphrase is asked for in
// vain.
type identity struct {
	path   string
	public ssh.PublicKey // nil where it is not known yet
	signer ssh.Signer    // nil where the private part cannot be had
	reason string        // why signer is nil
	absent bool          // there is no such file, nor a public part beside it
}

// maxKeyFile is more than any key takes.
const maxKeyFile = 1 << 20

// readIdentity reads a key file, or the public part beside one that is not
// there: its private part may be the agent's.
func (a *auth) readIdentity(path string) identity {
	id := identity{path: path, public: readPublic(path + ".pub")}
	data, err := readKeyFile(path)
	if err != nil {
		id.reason = reasonOf(err)
		id.absent = id.public == nil && errors.Is(err, fs.ErrNotExist)
		return id
	}
	if public := parsePublic(data); public != nil {
		id.public, id.reason = public, "it is a public key"
		return id
	}
	if id.reason = tooOpen(path); id.reason != "" {
		id.public = publicPart(data, id.public)
		return id
	}
	a.readPrivate(&id, data)
	return id
}

func (a *auth) readPrivate(id *identity, data []byte) {
	signer, err := ssh.ParsePrivateKey(data)
	var missing *ssh.PassphraseMissingError
	switch {
	case err == nil:
		id.signer, id.public = signer, signer.PublicKey()
	case errors.As(err, &missing):
		id.public = publicPart(data, id.public)
		a.lock(id, data)
	case id.public != nil && strings.HasPrefix(id.public.Type(), "sk-"), strings.Contains(err.Error(), "unhandled key type"):
		id.reason = "it is of a type that needs a security key or is not supported: add it to the agent"
	default:
		id.reason = "it is not a private key that can be read: " + strings.TrimPrefix(err.Error(), "ssh: ")
	}
}

// lock makes an encrypted key one that asks when it is used.
func (a *auth) lock(id *identity, data []byte) {
	switch {
	case a.ask == nil:
		id.reason = "it is encrypted, and there is no terminal to ask for its passphrase"
	case id.public == nil:
		signer, err := a.unlock(id.path, data)
		if err != nil {
			id.reason = err.Error()
			return
		}
		id.signer, id.public = signer, signer.PublicKey()
	default:
		id.signer = &lockedSigner{public: id.public, unlock: func() (ssh.Signer, error) { return a.unlock(id.path, data) }}
	}
}

// publicPart is what an encrypted private key of OpenSSH's format shows of
// itself, or else what is beside it.
func publicPart(data []byte, beside ssh.PublicKey) ssh.PublicKey {
	signer, err := ssh.ParsePrivateKey(data)
	var missing *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return signer.PublicKey()
	case errors.As(err, &missing) && missing.PublicKey != nil:
		return missing.PublicKey
	}
	return beside
}

func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxKeyFile:
		return nil, errors.New("it is too large for a key")
	}
	return os.ReadFile(path)
}

// tooOpen is OpenSSH's rule: a key of the user's own that others can read is
// not used.
func tooOpen(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return reasonOf(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if mode := info.Mode().Perm(); mode&0o077 != 0 && (!ok || int(stat.Uid) == os.Getuid()) {
		return fmt.Sprintf("permissions %04o %s", mode, openEnd)
	}
	return ""
}

func readPublic(path string) ssh.PublicKey {
	data, err := readKeyFile(path)
	if err != nil {
		return nil
	}
	return parsePublic(data)
}

func parsePublic(data []byte) ssh.PublicKey {
	key, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil
	}
	return key
}
