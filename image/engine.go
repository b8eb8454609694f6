package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/docker/client"

	"github.com/hermesbox/hermesbox/internal/redact"
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

// Engine is a connection to a Docker Engine, or to a buildkitd: ConnectBuildkitd
// says what that can do. Close it.
type Engine struct {
	API    *client.Client // nil for a buildkitd
	Host   string         // the address in use, as in DOCKER_HOST
	Config *configfile.ConfigFile
	Info   EngineInfo
	// Secrets are masked in the progress of a push; nil masks nothing.
	Secrets *redact.Redactor

	bare bool // a buildkitd
}

// EngineInfo is what an Engine says of itself.
type EngineInfo struct {
	Version         string `json:"version"`
	APIVersion      string `json:"api_version"` // the newest it speaks
	OS              string `json:"os"`
	Arch            string `json:"arch"`             // GOARCH names
	ContainerdStore bool   `json:"containerd_store"` // image IDs are manifest digests
	Root            string `json:"root"`             // data root on the Engine's machine
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
func (e *Engine) Close() error {
	if e.bare {
		return nil
	}
	return e.API.Close()
}

// kind is what it is, in a word.
func (e *Engine) kind() string {
	if e.bare {
		return "buildkitd"
	}
	return "Engine"
}

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
		Version:    info.ServerVersion, OS: info.OSType, Arch: goArch(info.Architecture), Root: info.DockerRootDir,
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
