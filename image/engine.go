package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/connhelper"
	ddocker "github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"
)

var (
	// ErrNoEngine means that no Docker Engine answers at the address in use.
	ErrNoEngine = errors.New("no Docker Engine answers")
	// ErrNotPermitted means that this user may not talk to the Docker Engine.
	ErrNotPermitted = errors.New("not permitted to use the Docker Engine")
	// ErrDockerConfig means that the Docker configuration or a variable of it is wrong.
	ErrDockerConfig = errors.New("wrong Docker configuration")
)

const dialTimeout = 10 * time.Second

// Engine is a connection to a Docker Engine. Close it.
type Engine struct {
	API    *client.Client
	Host   string // the address in use, as in DOCKER_HOST
	Config *configfile.ConfigFile
	Info   EngineInfo
}

// EngineInfo is what an Engine says of itself.
type EngineInfo struct {
	Version         string `json:"version"`
	APIVersion      string `json:"api_version"` // the newest it speaks
	OS              string `json:"os"`
	Arch            string `json:"arch"`             // GOARCH names
	ContainerdStore bool   `json:"containerd_store"` // image IDs are manifest digests
	Root            string `json:"root"`             // data root on the Engine's machine
	Name            string `json:"name"`
}

// Connect opens the Engine that the environment and the Docker configuration
// name, as the docker command does: DOCKER_HOST, else DOCKER_CONTEXT, else the
// current context of the configuration in DOCKER_CONFIG. A host that is not
// empty wins over all. The error wraps ErrNoEngine, ErrNotPermitted or ErrDockerConfig.
func Connect(ctx context.Context, host string, getenv func(string) string) (*Engine, error) {
	cfg, err := loadDockerConfig(getenv)
	if err != nil {
		return nil, err
	}
	endpoint, err := findEndpoint(host, cfg, getenv)
	if err != nil {
		return nil, err
	}
	e := &Engine{Host: endpoint.host, Config: cfg}
	if err := reach(ctx, e.Host); err != nil {
		return nil, err
	}
	if e.API, err = client.NewClientWithOpts(endpoint.options...); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDockerConfig, e.Host, err)
	}
	if err := e.ask(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close releases the connection.
func (e *Engine) Close() error { return e.API.Close() }

// ask fills Info.
func (e *Engine) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*dialTimeout)
	defer cancel()
	info, err := e.API.Info(ctx)
	if err != nil {
		return e.explain(err)
	}
	ping, err := e.API.Ping(ctx)
	if err != nil {
		return e.explain(err)
	}
	e.Info = EngineInfo{
		APIVersion: ping.APIVersion,
		Version:    info.ServerVersion, OS: info.OSType, Arch: goArch(info.Architecture), Root: info.DockerRootDir, Name: info.Name,
		ContainerdStore: strings.Contains(fmt.Sprint(info.DriverStatus), "io.containerd.snapshotter"),
	}
	return nil
}

func (e *Engine) explain(err error) error {
	switch {
	case strings.Contains(err.Error(), "permission denied"):
		return fmt.Errorf("%w at %s: %w", ErrNotPermitted, e.Host, err)
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("%w at %s: %w", ErrNoEngine, e.Host, err)
	}
	return fmt.Errorf("asking the Docker Engine at %s: %w", e.Host, err)
}

func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// reach tries a Unix socket first, to tell a missing Engine from a forbidden one.
func reach(ctx context.Context, host string) error {
	path, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		return nil
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return conn.Close()
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w at %s: %w", ErrNotPermitted, host, err)
	}
	return fmt.Errorf("%w at %s: %w", ErrNoEngine, host, err)
}

// loadDockerConfig reads config.json where DOCKER_CONFIG or the home directory has it.
func loadDockerConfig(getenv func(string) string) (*configfile.ConfigFile, error) {
	dir := dockerConfigDir(getenv)
	cfg, err := config.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: reading %s: %w", ErrDockerConfig, filepath.Join(dir, config.ConfigFileName), err)
	}
	return cfg, nil
}

func dockerConfigDir(getenv func(string) string) string {
	if dir := getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home := getenv("HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	return filepath.Join(home, ".docker")
}

// endpoint is where an Engine listens and how to get there.
type endpoint struct {
	host    string
	options []client.Opt
}

func findEndpoint(host string, cfg *configfile.ConfigFile, getenv func(string) string) (endpoint, error) {
	if host == "" {
		host = getenv("DOCKER_HOST")
	}
	if host != "" {
		return hostEndpoint(host, getenv)
	}
	name := getenv("DOCKER_CONTEXT")
	if name == "" {
		name = cfg.CurrentContext
	}
	if name == "" || name == "default" {
		return hostEndpoint(client.DefaultDockerHost, getenv)
	}
	return contextEndpoint(name, dockerConfigDir(getenv))
}

// hostEndpoint is an address as in DOCKER_HOST, with the TLS variables of the docker command.
func hostEndpoint(host string, getenv func(string) string) (endpoint, error) {
	e := endpoint{host: host, options: []client.Opt{client.WithAPIVersionNegotiation()}}
	if strings.HasPrefix(host, "ssh://") {
		return e.overSSH()
	}
	if _, err := client.ParseHostURL(host); err != nil {
		return e, fmt.Errorf("%w: DOCKER_HOST %q: %w", ErrDockerConfig, host, err)
	}
	if dir := getenv("DOCKER_CERT_PATH"); dir != "" && strings.HasPrefix(host, "tcp://") {
		httpClient, err := tlsClient(dir, getenv("DOCKER_TLS_VERIFY") == "")
		if err != nil {
			return e, err
		}
		e.options = append(e.options, client.WithHTTPClient(httpClient))
	}
	e.options = append(e.options, client.WithHost(host))
	return e, nil
}

func tlsClient(dir string, insecure bool) (*http.Client, error) {
	tlsc, err := tlsconfig.Client(tlsconfig.Options{
		CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"),
		InsecureSkipVerify: insecure, ExclusiveRootPools: true,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: DOCKER_CERT_PATH %s: %w", ErrDockerConfig, dir, err)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: tlsc}, CheckRedirect: client.CheckRedirect}, nil
}

// overSSH reaches an Engine through the ssh program, as the docker command does.
func (e endpoint) overSSH() (endpoint, error) {
	helper, err := connhelper.GetConnectionHelper(e.host)
	if err != nil {
		return e, fmt.Errorf("%w: %s: %w", ErrDockerConfig, e.host, err)
	}
	e.options = append(e.options, client.WithHost(helper.Host), client.WithDialContext(helper.Dialer))
	return e, nil
}

// contextEndpoint is the Engine of a named Docker context.
func contextEndpoint(name, configDir string) (endpoint, error) {
	wrong := func(err error) (endpoint, error) {
		return endpoint{}, fmt.Errorf("%w: context %q: %w", ErrDockerConfig, name, err)
	}
	contexts := store.New(filepath.Join(configDir, "contexts"), store.NewConfig(
		func() any { return &map[string]any{} },
		store.EndpointTypeGetter(ddocker.DockerEndpoint, func() any { return &ddocker.EndpointMeta{} }),
	))
	meta, err := contexts.GetMetadata(name)
	if err != nil {
		return wrong(err)
	}
	epMeta, err := ddocker.EndpointFromContext(meta)
	if err != nil {
		return wrong(err)
	}
	if strings.HasPrefix(epMeta.Host, "ssh://") {
		return endpoint{host: epMeta.Host, options: []client.Opt{client.WithAPIVersionNegotiation()}}.overSSH()
	}
	if epMeta.Host == "" {
		epMeta.Host = client.DefaultDockerHost
	}
	withTLS, err := ddocker.WithTLSData(contexts, name, epMeta)
	if err != nil {
		return wrong(err)
	}
	return tlsEndpoint(name, withTLS)
}

// tlsEndpoint is a context's endpoint with the certificates the context holds.
func tlsEndpoint(name string, ep ddocker.Endpoint) (endpoint, error) {
	e := endpoint{host: ep.Host, options: []client.Opt{client.WithAPIVersionNegotiation()}}
	if ep.TLSData != nil || ep.SkipTLSVerify {
		tlsc, err := contextTLS(ep)
		if err != nil {
			return e, fmt.Errorf("%w: context %q: %w", ErrDockerConfig, name, err)
		}
		e.options = append(e.options, client.WithHTTPClient(&http.Client{
			Transport: &http.Transport{TLSClientConfig: tlsc}, CheckRedirect: client.CheckRedirect,
		}))
	}
	e.options = append(e.options, client.WithHost(ep.Host))
	return e, nil
}
