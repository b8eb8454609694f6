package redact

import "strings"

// Mask stands wherever a secret stood.
const Mask = "***"

// IsSecretName tells whether a value of this name is a secret by convention:
// the name contains KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL in any case.
func IsSecretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range [...]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// Named returns value as it may be shown beside its name: masked where the
// name is a secret's, without the userinfo of URLs otherwise. An empty value
// stays empty, so that "not set" remains visible.
func Named(name, value string) string {
	if value != "" && IsSecretName(name) {
		return Mask
	}
	return URL(value)
}
