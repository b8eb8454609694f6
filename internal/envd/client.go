package envd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube/retry"
	"github.com/hermesbox/hermesbox/internal/redact"
)

// quick is how long a request may take that moves no data.
const quick = 60 * time.Second

// Options are how the service is spoken to.
type Options struct {
	// User owns what is started and written; empty is root.
	User string
	// TrafficToken opens a sandbox whose ports are not public, AccessToken a
	// service that demands one. Both are empty as a rule.
	TrafficToken, AccessToken string
	// Roots are the authorities trusted for https; nil is the system's.
	Roots *x509.CertPool
}

// Client is the command service of one sandbox. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	options Options
	secrets *redact.Redactor
	// transport is what the client's connections belong to.
	transport *http.Transport
	client    *http.Client
	// silence is how long a stream may be without a frame.
	silence time.Duration
}

// New returns a client. It sends nothing.
func New(t Target, o Options) (*Client, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the address %q of the command service is none", redact.URL(t.URL))
	}
	if o.User == "" {
		o.User = "root"
	}
	c := &Client{
		base: u, options: o, silence: silence, transport: transport(t, o),
		secrets: redact.New(o.TrafficToken, o.AccessToken),
	}
	c.client = &http.Client{Transport: &retry.Transport{Next: c.transport, Judge: c.judge}}
	return c, nil
}

// Close gives up idle connections. Streams stay open.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// transport asks for nothing compressed: proxies would hold a stream back.
func transport(t Target, o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	out := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
	}
	if o.Roots != nil {
		out.TLSClientConfig = &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	}
	if t.Dial != "" {
		out.Proxy = nil // the way is given
		out.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, t.Dial)
		}
	}
	return out
}

// address is that of a route of the service.
func (c *Client) address(path string, query url.Values) string {
	u := *c.base
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	u.RawQuery = query.Encode()
	return u.String()
}

// request makes one, with the user and the tokens in it.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.address(path, query), body)
	if err != nil {
		return nil, fmt.Errorf("writing a request to the command service: %w", err)
	}
	req.SetBasicAuth(c.options.User, "")
	req.Header.Set("User-Agent", "hermesbox")
	if token := c.options.AccessToken; token != "" {
		req.Header.Set("X-Access-Token", token)
	}
	if token := c.options.TrafficToken; token != "" { // versions know one name or the other
		req.Header.Set("E2b-Traffic-Access-Token", token)
		req.Header.Set("Cube-Traffic-Access-Token", token)
	}
	return req, nil
}

// send returns a successful answer.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	res, err := c.client.Do(req)
	if err == nil {
		return res, nil
	}
	var failed *Error
	if errors.As(err, &failed) {
		return nil, failed
	}
	var in *url.Error
	if errors.As(err, &in) { // its text holds the query
		err = in.Err
	}
	return nil, fmt.Errorf("%s %s: %w", req.Method, shown(req.URL), err)
}

// shown is an address as errors print it.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// unary calls a method that takes one message and gives one. repeatable says
// that calling it twice does what calling it once does. out may be nil.
func (c *Client) unary(ctx context.Context, method string, repeatable bool, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("writing a message to the command service: %w", err)
	}
	req, err := c.request(ctx, http.MethodPost, method, nil, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Connect-Protocol-Version", "1")
	if repeatable {
		retry.MarkIdempotent(req)
	}
	res, err := c.send(req)
	if err != nil {
		return err
	}
	return c.readJSON(res, out)
}

// readJSON reads and closes an answer.
func (c *Client) readJSON(res *http.Response, out any) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, frameLimit))
	closing := res.Body.Close()
	switch {
	case err != nil:
		return fmt.Errorf("%s: reading the answer: %w", shown(res.Request.URL), err)
	case closing != nil:
		return fmt.Errorf("%s: reading the answer: %w", shown(res.Request.URL), closing)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return c.failure(res, parts{message: "the answer is not the JSON expected: " + err.Error()})
	}
	return nil
}
