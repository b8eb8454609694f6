package cubeproxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

const (
	answerTimeout = 7206 * time.Second
	maxBody       = 256 << 20
	idleTimeout   = 30 * time.Second
)

// Proxy is the data plane. It is an http.Handler; Close it.
type Proxy struct {
	cluster   *cluster.Cluster
	transport *http.Transport
	reverse   *httputil.ReverseProxy
	backends  backends
}

// New makes the data plane of a cluster.
func New(c *cluster.Cluster, log *slog.Logger) *Proxy {
	p := &Proxy{cluster: c, backends: backends{idle: map[string][]*backend{}}}
	p.transport = &http.Transport{
		Proxy: nil, DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: idleTimeout,
		ResponseHeaderTimeout: answerTimeout,
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: p.transport, FlushInterval: -1, ErrorHandler: upstreamFailed,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), BufferPool: newPool(),
	}
	return p
}

// Close drops idle connections to sandboxes.
func (p *Proxy) Close() error {
	p.transport.CloseIdleConnections()
	p.backends.close()
	return nil
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

// ServeHTTP passes one request on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, ok := parse(r)
	if !ok {
		refuse(w, http.StatusBadRequest, "bad request")
		return
	}
	if r.ContentLength > maxBody {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	visit, err := p.cluster.Visit(r.Context(), to.id, token(r))
	if err != nil {
		visitFailed(w, err)
		return
	}
	to.visit = visit
	if visit.MaskHost != "" {
		to.host = strings.ReplaceAll(visit.MaskHost, "${PORT}", strconv.Itoa(to.port))
	}
	if isPlain(r) {
		p.direct(w, r, to)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), targetKey{}, to)))
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

// dial connects to the sandbox of the request that needs the connection.
func dial(ctx context.Context, _, _ string) (net.Conn, error) {
	to, ok := ctx.Value(targetKey{}).(target)
	if !ok {
		return nil, errors.New("connecting to no sandbox")
	}
	return to.visit.Dial(ctx, to.port)
}

func visitFailed(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, cluster.ErrForbidden):
		refuse(w, http.StatusForbidden, "forbidden")
	case errors.Is(err, cluster.ErrGone):
		refuse(w, http.StatusGone, "gone")
	case errors.Is(err, cluster.ErrUnknown):
		refuse(w, http.StatusNotFound, "not found")
	case errors.Is(err, cluster.ErrPaused):
		w.Header().Set("Retry-After", "2")
		refuse(w, http.StatusServiceUnavailable, "service unavailable")
	default:
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "service unavailable")
	}
}

// refuse answers in the proxy's own shape.
func refuse(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":"`+word+`"}`) // a client that hung up is none of ours to tell
}

const badGateway = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>openresty</center>\r\n</body>\r\n</html>\r\n"

// upstreamFailed answers where the sandbox could not be reached.
func upstreamFailed(w http.ResponseWriter, _ *http.Request, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	case errors.Is(err, cluster.ErrNoPort):
		refuse(w, http.StatusNotFound, "not found")
		return
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, badGateway) // a client that hung up is none of ours to tell
}
