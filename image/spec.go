package image

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/distribution/reference"

	"github.com/hermesbox/hermesbox/buildctx"
)

// ErrSpec means that a value of a Spec cannot be used; the text names it.
var ErrSpec = errors.New("cannot be used")

// Spec is the image that is wanted.
type Spec struct {
	Tree         *buildctx.Tree
	Dockerfile   *Dockerfile
	Base         Base     // zero where the Dockerfile takes none
	Tags         []string // at least one
	Platform     string   // as ParsePlatform gives it
	Target       string   // stage; empty for the last
	BuildArgs    map[string]string
	Secrets      []Secret
	CABundle     string // PEM file, passed as a secret; empty for none
	WebUIPackage string // npm tarball; empty for the npm registry
	Origin       Origin
	Epoch        string // SOURCE_DATE_EPOCH as given; empty for none
	NoCache      bool
	Pull         bool
}

// Secret is a value for the build that no layer keeps.
type Secret struct {
	ID    string
	Value []byte
}

const maxSecretBytes = 500 << 10 // BuildKit's own limit

// Check refuses tags that no Engine takes, and a CA bundle or web UI package
// that cannot be used, before anything is read or sent. The error wraps ErrSpec or ErrPackage.
func (s Spec) Check() error {
	if err := checkTags(s.Tags); err != nil {
		return err
	}
	if s.CABundle != "" {
		if _, err := readCABundle(s.CABundle); err != nil {
			return err
		}
	}
	if s.WebUIPackage != "" {
		if _, err := readPackage(s.WebUIPackage); err != nil {
			return err
		}
	}
	return nil
}

// readCABundle reads a PEM file with at least one certificate.
func readCABundle(path string) (Secret, error) {
	bundle, err := ReadSecret(CABundleSecret, path)
	if err != nil {
		return Secret{}, err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(bundle.Value) {
		return Secret{}, fmt.Errorf("%w: CA bundle %s holds no PEM certificate", ErrSpec, path)
	}
	return bundle, nil
}

func checkTags(tags []string) error {
	if len(tags) == 0 {
		return fmt.Errorf("%w: no image name to tag", ErrSpec)
	}
	for _, tag := range tags {
		named, err := reference.ParseNormalizedNamed(tag)
		if err != nil {
			return fmt.Errorf("%w: tag %q: %w", ErrSpec, tag, err)
		}
		if _, ok := named.(reference.Digested); ok {
			return fmt.Errorf("%w: tag %q has a digest", ErrSpec, tag)
		}
	}
	return nil
}

// ReadSecret reads a secret from a file. The error wraps ErrSpec.
func ReadSecret(id, path string) (Secret, error) {
	value, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, fmt.Errorf("%w: secret %q: %w", ErrSpec, id, err)
	}
	if len(value) > maxSecretBytes {
		return Secret{}, fmt.Errorf("%w: secret %q: %s has more than %d bytes", ErrSpec, id, path, maxSecretBytes)
	}
	return Secret{ID: id, Value: value}, nil
}
