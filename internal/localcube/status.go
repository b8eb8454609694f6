package localcube

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Status is what a local Cube says of itself.
type Status struct {
	Running    bool   `json:"running"`
	PID        int    `json:"pid"`
	APIURL     string `json:"api_url"`
	MasterAddr string `json:"master_addr"`
	Proxy      Proxy  `json:"proxy"`
	Domain     string `json:"domain"`
	// SharedRoot is the user's directory that stands for /data/shared.
	SharedRoot     string `json:"shared_root"`
	EgressEnforced bool   `json:"egress_enforced"`
	// ProxyTLS is the address where the proxy speaks TLS as well, "" where it does not.
	ProxyTLS string `json:"-"`
	// EgressReason says why outbound rules are not enforced.
	EgressReason string   `json:"-"`
	Faults       []string `json:"-"`
}

// Proxy is where the data plane listens.
type Proxy struct {
	IP     string `json:"ip"`
	Port   int    `json:"port"`
	Scheme string `json:"scheme"`
}

// Env is the status as shell lines for eval.
func (s Status) Env() string {
	var b strings.Builder
	for _, v := range s.Variables() {
		fmt.Fprintf(&b, "export %s='%s'\n", v[0], strings.ReplaceAll(v[1], "'", `'\''`))
	}
	return b.String()
}

// Variables are the names and values that make clients use this local Cube.
func (s Status) Variables() [][2]string {
	return [][2]string{
		{"CUBE_API_URL", s.APIURL},
		{"CUBE_MASTER_ADDR", s.MasterAddr},
		{"CUBE_PROXY_NODE_IP", s.Proxy.IP},
		{"CUBE_PROXY_PORT_HTTP", strconv.Itoa(s.Proxy.Port)},
		{"CUBE_PROXY_SCHEME", s.Proxy.Scheme},
		{"CUBE_SANDBOX_DOMAIN", s.Domain},
		{"E2B_API_URL", s.APIURL},
		{"E2B_API_KEY", "e2b_000000"}, // E2B's clients want one of this form; it is not looked at
	}
}

func proxyOf(addr net.Addr) Proxy {
	tcp, _ := addr.(*net.TCPAddr) // all our listeners are
	return Proxy{IP: tcp.IP.String(), Port: tcp.Port, Scheme: "http"}
}
