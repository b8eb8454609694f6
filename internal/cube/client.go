package cube

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// ErrNotConfigured is what a request to a service gives whose address is not
// known.
var ErrNotConfigured = errors.New("no address configured")

// Options say where a cluster is. One of the addresses must be set.
type Options struct {
	// APIURL is CubeAPI's base address.
	APIURL string
	// MasterAddr is CubeMaster's host:port or base address. Where it is empty,
	// templates go through CubeAPI.
	MasterAddr string
	// APIKey is sent to CubeAPI in both headers that its versions read.
	APIKey string
	// CAFile names a PEM file of authorities trusted besides the system's.
	CAFile string
	// Timeout is how long any one request may take, retries included. 0 gives
	// each route what its server may take, and some more.
	Timeout time.Duration
	// Proxy chooses an HTTP proxy; nil follows the environment.
	Proxy func(*http.Request) (*url.URL, error)
}

// Client is a cluster. It is safe for concurrent use.
type Client struct {
	api, master *service
	transport   *http.Transport
}

// New checks the options and reads the CA file. It sends nothing.
func New(o Options) (*Client, error) {
	transport, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	c := &Client{transport: transport}
	secrets := redact.New(o.APIKey)
	if c.api, err = newService("CubeAPI", o.APIURL, o, transport, secrets); err != nil {
		return nil, err
	}
	o.APIKey = "" // CubeMaster knows no keys; it must not learn this one.
	if c.master, err = newService("CubeMaster", master(o.MasterAddr), o, transport, secrets); err != nil {
		return nil, err
	}
	if c.api == nil && c.master == nil {
		return nil, fmt.Errorf("connecting to Cube: %w", ErrNotConfigured)
	}
	return c, nil
}

// Close gives up idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// HasMaster tells whether templates and nodes are asked of CubeMaster.
func (c *Client) HasMaster() bool { return c.master != nil }

// master completes a host:port to a base address.
func master(addr string) string {
	if addr == "" || strings.Contains(addr, "://") {
		return addr
	}
	return "http://" + addr
}

// base parses a base address. Credentials in it are refused: they would be
// sent on to wherever it leads.
func base(name, addr string) (*url.URL, error) {
	u, err := url.Parse(addr)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the address %q of %s is none: write it as http://host:port", redact.URL(addr), name)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the address %q of %s has a user, a query or a fragment: leave them out; a key goes in CUBE_API_KEY", origin(u), name)
	}
	return u, nil
}

// origin is an address as it may be shown: without user, query and fragment.
func origin(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return shown.String()
}

func newTransport(o Options) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:               o.Proxy,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
	}
	if o.Proxy == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	if o.CAFile == "" {
		return t, nil
	}
	pool, err := authorities(o.CAFile)
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// authorities are the system's and those of a PEM file.
func authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the CA file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the CA file %s has no certificate in PEM form", file)
	}
	return pool, nil
}
