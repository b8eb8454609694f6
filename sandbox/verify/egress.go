package verify

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
)

// reached is how far a request to a model endpoint came.
type reached struct {
	Address string `json:"address"`
	// Layer is where it ended: resolve, connect, tls or http; empty where an
	// answer came, or a connection where none was to come; unknown where that
	// could not be tried.
	Layer  string `json:"layer"`
	Error  string `json:"error"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Type   string `json:"type"`
	Body   string `json:"body"`
}

var layerRemedies = map[string]string{
	"resolve": "name the host by its IPv4 address, or give the template a resolver with --dns",
	"connect": "see whether the model server runs and listens, and whether the template allows its network: hermesbox template lint",
	"tls":     "the image must trust the authority of the server's certificate: hermesbox build --ca-bundle",
	"http":    "something takes connections there, but is no HTTP server",
}

// addresses are those that the network probe tries.
func (s *subject) addresses() map[string]any {
	denied := []string{}
	if s.options.Reach != nil && s.options.NotEnforced == "" {
		denied = s.denied()
	}
	return map[string]any{"allowed": append([]string{}, s.options.Endpoints...), "denied": denied}
}

func (s *subject) egressAllowed(context.Context) check.Result {
	if len(s.options.Endpoints) == 0 {
		return skipped("sandbox.model_endpoints names none")
	}
	var found map[string]reached
	if err := s.read("network", "allowed", &found); err != nil {
		return unknown(err)
	}
	return judgeReached(s.options.Endpoints, found)
}

// judgeReached tells of all endpoints, as bad as the worst of them.
func judgeReached(endpoints []string, found map[string]reached) check.Result {
	worst := passed("")
	var said []string
	for _, endpoint := range endpoints {
		got, ok := found[endpoint]
		if !ok {
			return unknown(fmt.Errorf("%w: it says nothing of %.80q", answer.Err, endpoint))
		}
		r := got.judge()
		said = append(said, endpoint+": "+r.Evidence)
		if rank(r) > rank(worst) {
			worst = r
		}
	}
	worst.Evidence = strings.Join(said, "; ")
	return worst
}

func (r reached) judge() check.Result {
	at := fmt.Sprintf("%.60q", r.Address)
	switch {
	case r.Layer != "":
		return failing(layerRemedies[r.Layer], "failed at %s %s: %.200q", r.Layer, at, r.Error)
	case r.Status == 401 || r.Status == 403:
		return passed("reached at %s, HTTP %d: it wants a key", at, r.Status)
	case r.Type == "text/html" || strings.HasPrefix(strings.TrimSpace(strings.ToLower(r.Body)), "<"):
		return failing("something else answers there, such as a proxy's log-in page", "HTTP %d from %s with HTML, which no model server sends", r.Status, at)
	case r.Status >= 500:
		return failing("look at the model server, or the gateway before it", "HTTP %d from %s", r.Status, at)
	case r.Status/100 != 2:
		return warning("see whether the address has the right path, such as /v1", "HTTP %d from %s for %.80q", r.Status, at, r.Path)
	}
	return passed("reached at %s, HTTP %d", at, r.Status)
}

// probes are addresses of which one or the other is denied by nearly every
// policy: the metadata service, private networks, the public internet.
var probes = []string{"169.254.169.254:80", "10.255.255.254:80", "172.31.255.254:80", "192.168.255.254:80", "1.1.1.1:443", "8.8.8.8:443"}

// denied are the addresses that the policy denies, those first where something
// listens.
func (s *subject) denied() []string {
	var out []string
	for _, addr := range append(slices.Clone(s.options.Denied), probes...) {
		host, _, err := net.SplitHostPort(addr)
		ip, parseErr := netip.ParseAddr(host)
		if err != nil || parseErr != nil || !ip.Is4() || ip.IsLoopback() || slices.Contains(out, addr) {
			continue
		}
		if !s.open(ip) && len(out) < 6 {
			out = append(out, addr)
		}
	}
	return out
}

func (s *subject) open(ip netip.Addr) bool {
	open, _ := s.options.Reach(ip)
	return open
}

func (s *subject) egressDenied(context.Context) check.Result {
	switch {
	case s.options.NotEnforced != "":
		return skipped(s.options.NotEnforced)
	case s.options.Reach == nil:
		return skipped("the policy of the template is not known")
	case len(s.denied()) == 0:
		return skipped("policy opens everything")
	}
	var found map[string]reached
	if err := s.read("network", "denied", &found); err != nil {
		return unknown(err)
	}
	return s.judgeDenied(found)
}

// judgeDenied wants all that was asked for to be out of reach.
func (s *subject) judgeDenied(found map[string]reached) check.Result {
	var open, closed []string
	asked := slices.Sorted(maps.Keys(found))
	for _, addr := range s.denied() {
		if !slices.Contains(asked, addr) {
			return unknown(fmt.Errorf("%w: it says nothing of %s", answer.Err, addr))
		}
	}
	for _, addr := range asked {
		got := found[addr]
		host, _, _ := net.SplitHostPort(got.Address)
		ip, err := netip.ParseAddr(host)
		if strings.HasPrefix(addr, "gateway:") && (err != nil || ip.IsUnspecified() || s.open(ip)) {
			continue // it has none, or one that is allowed
		}
		switch got.Layer {
		case "":
			open = append(open, got.Address)
		case "connect":
			closed = append(closed, fmt.Sprintf("%s (%.60s)", got.Address, strings.ToValidUTF8(got.Error, "?")))
		default:
			return unknown(fmt.Errorf("trying to reach %s: %.200q", addr, got.Error))
		}
	}
	if len(open) > 0 {
		return failing("the template opens more than the policy says: hermesbox template show tells its policy, hermesbox template create makes it anew", "reached, though the policy denies it: %s", shown(open))
	}
	return passed("out of reach: %s", strings.Join(closed, ", "))
}

// hearing is a listener of this machine's, which takes connections and ends them.
type hearing struct {
	net.Listener
	done chan struct{}
}

// listen listens on all addresses, since which one the sandbox has for its
// gateway is not known here. Close it.
func listen() (*hearing, error) {
	l, err := net.Listen("tcp4", "0.0.0.0:0") //nolint:noctx // nothing to wait for
	if err != nil {
		return nil, fmt.Errorf("listening for the sandbox: %w", err)
	}
	h := &hearing{l, make(chan struct{})}
	go func() {
		defer close(h.done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close() // it was heard
		}
	}()
	return h, nil
}

func (h *hearing) port() string {
	_, port, _ := net.SplitHostPort(h.Addr().String())
	return port
}

func (h *hearing) Close() error {
	err := h.Listener.Close()
	<-h.done
	return err
}
