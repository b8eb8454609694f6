package cube

import "slices"

// Network is what may leave a sandbox. Allow beats Deny; nothing said leaves
// the internet open and private networks closed. Entries are IPv4 CIDRs, in
// Allow domains too where Cube is newer than May 2026.
type Network struct {
	// Internet is the internet access switch; nil leaves Cube's default.
	Internet *bool    `json:"allowInternetAccess,omitempty"`
	Allow    []string `json:"allowOut,omitempty"`
	Deny     []string `json:"denyOut,omitempty"`
	// PublicTraffic false demands a token from visitors of the sandbox's ports.
	// Set it only where that is meant: the May version takes it for Internet.
	PublicTraffic *bool `json:"allowPublicTraffic,omitempty"`
	// MaskRequestHost is the Host that programs inside see.
	MaskRequestHost string `json:"maskRequestHost,omitempty"`
}

// clean is n without empty and doubled entries, as cubemastercli sends it; nil
// where nothing is left.
func (n *Network) clean() *Network {
	if n == nil {
		return nil
	}
	out := *n
	out.Allow, out.Deny = distinct(n.Allow), distinct(n.Deny)
	if out.Internet == nil && out.Allow == nil && out.Deny == nil && out.PublicTraffic == nil && out.MaskRequestHost == "" {
		return nil
	}
	return &out
}

// distinct keeps the first of equal entries.
func distinct(entries []string) []string {
	var out []string
	for _, e := range entries {
		if e != "" && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}
