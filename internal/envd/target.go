package envd

import (
	"net"
	"net/url"
	"strconv"
)

// Port is where the command service listens.
const Port = 49983

// Target is how a port of a sandbox is reached.
type Target struct {
	// URL is the base address that requests name.
	URL string
	// Dial is the host:port to connect to; empty resolves the host of URL.
	Dial string
}

// Proxy is where CubeProxy listens.
type Proxy struct {
	// Host is the address of its node. Empty resolves the host names of
	// sandboxes, as a DNS wildcard makes possible.
	Host string
	// Port is 0 for the scheme's own.
	Port int
	// Scheme is http or https; empty is https for port 443, else http.
	Scheme string
}

func (p Proxy) scheme() string {
	switch {
	case p.Scheme != "":
		return p.Scheme
	case p.Port == 443:
		return "https"
	default:
		return "http"
	}
}

// addr is host:port, with the scheme's port where none is given.
func (p Proxy) addr() string {
	port := p.Port
	switch {
	case port != 0:
	case p.scheme() == "https":
		port = 443
	default:
		port = 80
	}
	return net.JoinHostPort(p.Host, strconv.Itoa(port))
}

// Direct reaches a service at host:port, without a proxy.
func Direct(addr string) Target { return Target{URL: "http://" + addr} }

// HostName is the name that CubeProxy knows a sandbox's port by.
func HostName(port int, sandboxID, domain string) string {
	return strconv.Itoa(port) + "-" + sandboxID + "." + domain
}

// ByHost reaches a port by its host name. Every version of the proxy knows it.
func ByHost(p Proxy, port int, sandboxID, domain string) Target {
	host := HostName(port, sandboxID, domain)
	if p.Port != 0 && p.Host == "" {
		host = net.JoinHostPort(host, strconv.Itoa(p.Port))
	}
	t := Target{URL: p.scheme() + "://" + host}
	if p.Host != "" {
		t.Dial = p.addr()
	}
	return t
}

// ByPath reaches a port by a path of the proxy, which needs no host name. The
// proxy knows it since about Cube 0.3.0.
func ByPath(p Proxy, port int, sandboxID string) Target {
	u := url.URL{Scheme: p.scheme(), Host: p.addr(), Path: "/sandbox/" + sandboxID + "/" + strconv.Itoa(port)}
	return Target{URL: u.String()}
}
