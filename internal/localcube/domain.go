package localcube

import (
	"errors"
	"fmt"
	"regexp"
)

// ErrDomain is a domain that host names of sandboxes cannot end in.
var ErrDomain = errors.New("domain cannot be used")

// maxDomain leaves room for the port and the id of a sandbox in a name of at most 253 bytes.
const maxDomain = 200

var domainForm = regexp.MustCompile(`^(?i:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.(?i:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?))*$`)

// CheckDomain refuses what is no domain. The error wraps ErrDomain.
func CheckDomain(domain string) error {
	if len(domain) > maxDomain || !domainForm.MatchString(domain) {
		return fmt.Errorf("%w: %q is none like cube.app, of letters, digits and - and at most %d bytes", ErrDomain, domain, maxDomain)
	}
	return nil
}
