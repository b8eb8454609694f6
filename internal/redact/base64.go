package redact

import (
	"encoding/base64"
	"slices"
)

// base64Forms lists what a secret looks like in base64: whole, padded or not,
// and the part that no neighbour can change, for each of the three positions
// that a secret can have inside a longer text; in both alphabets.
func base64Forms(secret string) []string {
	var forms []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		raw := enc.WithPadding(base64.NoPadding)
		forms = append(forms, enc.EncodeToString([]byte(secret)), raw.EncodeToString([]byte(secret)))
		for before := range 3 {
			text := append(make([]byte, before), secret...)
			coded := raw.EncodeToString(text)
			forms = append(forms, coded[(before*8+5)/6:len(text)*8/6])
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}
