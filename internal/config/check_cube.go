package config

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	hostName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	cubeVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+][0-9A-Za-z.+-]+)?$`)
)

func checkCube(c Cube) []finding {
	return slices.Concat(
		oneOf("cube.engine", c.Engine, "", "local"),
		unless(c.APIURL == "" || isWebURL(c.APIURL), "cube.api_url", c.APIURL,
			"an address such as http://10.0.0.5:3000, without user and password"),
		unless(c.MasterAddr == "" || isMaster(c.MasterAddr), "cube.master_addr", c.MasterAddr,
			"host:port or an address such as http://10.0.0.5:8089"),
		unless(c.Domain == "" || hostName.MatchString(c.Domain), "cube.domain", c.Domain, "a domain such as cube.app"),
		unless(c.Version == "" || cubeVersion.MatchString(c.Version), "cube.version", c.Version, "a version such as 0.7.0"),
		unless(c.Proxy.IP == "" || isHost(c.Proxy.IP), "cube.proxy.ip", c.Proxy.IP, "an address or host name, without port"),
		unless(c.Proxy.Port >= 0 && c.Proxy.Port <= 65535, "cube.proxy.port", strconv.Itoa(c.Proxy.Port), "a port, or 0 for the scheme's"),
		oneOf("cube.proxy.scheme", c.Proxy.Scheme, "", "http", "https"),
	)
}

// isWebURL tells whether s is an http or https address that carries neither
// credentials nor a query. Credentials have variables of their own.
func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil &&
		isHost(u.Hostname()) && (u.Port() == "" || isPort(u.Port())) &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// isMaster tells whether s is a base address, or host:port.
func isMaster(s string) bool {
	return isWebURL(s) || !strings.Contains(s, "/") && isWebURL("http://"+s)
}

// isHost tells whether s is an IP address or a host name.
func isHost(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil || hostName.MatchString(s)
}

// isPort tells whether s is a port that can be dialled.
func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0 && n <= 65535
}
