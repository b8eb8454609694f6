package cubeproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
	"github.com/hermesbox/hermesbox/internal/upgrade"
)

const (
	answerTimeout = 7206 * time.Second
	maxBody       = 256 << 20
	idleTimeout   = 30 * time.Second
	closeGrace    = 5 * time.Second
)

// Proxy is the data plane. It is an http.Handler; Close it.
type Proxy struct {
	cluster   *cluster.Cluster
	transport *http.Transport
	reverse   *httputil.ReverseProxy
	backends  backends
	buffers   *pool
	fronts    []*front
}

// New makes the data plane of a cluster.
func New(c *cluster.Cluster, log *slog.Logger) *Proxy {
	p := &Proxy{cluster: c, backends: backends{idle: map[string][]*backend{}}, buffers: newPool()}
	p.transport = &http.Transport{
		Proxy: nil, DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: idleTimeout,
		ResponseHeaderTimeout: answerTimeout,
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: p.transport, FlushInterval: -1, ErrorHandler: reverseFailed,
		ModifyResponse: checkStatus, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), BufferPool: p.buffers,
	}
	return p
}

// Close waits for what goes the short way, for at most a few seconds, and drops
// idle connections to sandboxes.
func (p *Proxy) Close() error {
	var errs []error
	for _, f := range p.fronts {
		errs = append(errs, f.wait(closeGrace))
	}
	p.transport.CloseIdleConnections()
	p.backends.close()
	return errors.Join(errs...)
}

// target is where one request goes.
type target struct {
	visit cluster.Visit
	id    string
	port  int
	path  string // escaped, "" keeps the request's
	host  string
}

type targetKey struct{}

// ServeHTTP passes one request on, whatever it is.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > maxBody {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	to, ok := p.admit(r.Context(), w, r)
	if !ok {
		return
	}
	defer to.visit.Leave()
	// Else a command that answers before its request was read to the end is cut
	// off, now and then.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	w.Header()["Content-Type"] = nil // where the sandbox names none, neither does the proxy
	p.reverse.ServeHTTP(upgrade.Whole(w, r), r.WithContext(context.WithValue(r.Context(), targetKey{}, to)))
}

// admit finds out where a request goes, or answers it. The target's visit is the caller's to leave.
func (p *Proxy) admit(ctx context.Context, w http.ResponseWriter, r *http.Request) (target, bool) {
	to, ok := parse(r)
	if !ok {
		refuse(w, http.StatusBadRequest, "bad request")
		return to, false
	}
	var err error
	if to.visit, err = p.cluster.Visit(ctx, to.id, token(r)); err != nil {
		visitFailed(w, err)
		return to, false
	}
	if mask := to.visit.MaskHost; mask != "" {
		to.host = strings.ReplaceAll(mask, "${PORT}", strconv.Itoa(to.port))
	}
	return to, true
}

func token(r *http.Request) string {
	if t := r.Header.Get("E2b-Traffic-Access-Token"); t != "" {
		return t
	}
	return r.Header.Get("Cube-Traffic-Access-Token")
}

// parse finds the sandbox and the port, by path or else by Host.
func parse(r *http.Request) (target, bool) {
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/sandbox/"); ok {
		id, rest, _ := strings.Cut(rest, "/")
		digits, path, _ := strings.Cut(rest, "/")
		if port, ok := portOf(digits); ok && id != "" {
			return target{id: id, port: port, path: "/" + path, host: r.Host}, true
		}
	}
	label, _, dotted := strings.Cut(r.Host, ".")
	digits, id, dashed := strings.Cut(label, "-")
	port, ok := portOf(digits)
	if !ok || !dotted || !dashed || id == "" {
		return target{}, false
	}
	return target{id: id, port: port, host: r.Host}, true
}

func portOf(digits string) (int, bool) {
	if strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), err == nil && n > 0
}

// rewrite turns the request to the sandbox. The URL's host only names the
// connection pool: one for each sandbox and port.
func rewrite(pr *httputil.ProxyRequest) {
	to, _ := pr.In.Context().Value(targetKey{}).(target) // set by ServeHTTP
	pr.Out.URL.Scheme = "http"
	pr.Out.URL.Host = net.JoinHostPort(to.id, strconv.Itoa(to.port))
	pr.Out.URL.RawQuery = pr.In.URL.RawQuery // as it came: ReverseProxy drops what Go cannot parse
	pr.Out.Host = to.host
	if to.path != "" {
		pr.Out.URL.Path, pr.Out.URL.RawPath = unescaped(to.path), to.path
	}
	pr.SetXForwarded()
}

// checkStatus refuses what is no status: net/http would panic over it.
func checkStatus(resp *http.Response) error {
	if resp.StatusCode < http.StatusContinue {
		return fmt.Errorf("the sandbox answered with the status %03d", resp.StatusCode)
	}
	return nil
}

// reverseFailed is upstreamFailed for the ReverseProxy.
func reverseFailed(w http.ResponseWriter, r *http.Request, err error) {
	to, _ := r.Context().Value(targetKey{}).(target) // set by ServeHTTP
	upstreamFailed(w, to, err)
}

// dial connects to the sandbox of the request that needs the connection.
func dial(ctx context.Context, _, _ string) (net.Conn, error) {
	to, ok := ctx.Value(targetKey{}).(target)
	if !ok {
		return nil, errors.New("connecting to no sandbox")
	}
	return to.visit.Dial(ctx, to.port)
}
