package template

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// MarshalJSON writes {internet, allow, deny}, and names where there are any.
func (e Egress) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Internet bool     `json:"internet"`
		Allow    []string `json:"allow"`
		Deny     []string `json:"deny"`
		Names    []string `json:"names,omitempty"`
	}{e.Internet(), texts(e.Allow), texts(e.Deny), e.Names})
}

// fixed marks what no sandbox of the template can take back.
const fixed = " (fixed: a sandbox cannot take it back)"

// Words explains the policy, a sentence a line, in the order in which Cube
// applies it.
func (e Egress) Words() []string {
	var out []string
	for _, p := range sorted(e.Allow, netip.Prefix.Compare) {
		out = append(out, allowWords(p)+fixed)
	}
	for _, name := range e.Names {
		out = append(out, fmt.Sprintf("%q is open, as Cube learns its addresses%s", name, fixed))
	}
	if slices.Contains(e.Allow, everything) {
		return append(out, "nothing is closed")
	}
	for _, p := range sorted(e.Deny, netip.Prefix.Compare) {
		out = append(out, p.String()+" is closed"+e.except(p))
	}
	if !e.Internet() {
		return append(out, "everything else is closed: internet access is off; a sandbox can switch it on for itself")
	}
	for _, p := range builtin {
		if !slices.ContainsFunc(slices.Concat(e.Allow, e.Deny), func(q netip.Prefix) bool { return covers(q, p) }) {
			out = append(out, p.String()+" is closed"+e.except(p)+": internet access does not open it")
		}
	}
	return append(out, "everything else is open: internet access is on; a sandbox can switch it off for itself")
}

func allowWords(p netip.Prefix) string {
	switch {
	case p == everything:
		return "everything is open, private networks and the metadata address 169.254.169.254 among it"
	case p.Contains(metadata):
		return p.String() + " is open, the metadata address 169.254.169.254 among it"
	}
	return p.String() + " is open"
}

// except names what of a closed network is open all the same.
func (e Egress) except(p netip.Prefix) string {
	var inside []string
	for _, q := range sorted(e.Allow, netip.Prefix.Compare) {
		switch {
		case covers(q, p):
			return " in name only: " + q.String() + " opens all of it"
		case covers(p, q):
			inside = append(inside, q.String())
		}
	}
	if len(inside) == 0 {
		return ""
	}
	return " except " + strings.Join(inside, ", ")
}
