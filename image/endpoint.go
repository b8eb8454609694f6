package image

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/connhelper"
	ddocker "github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"
)

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

// contextTLS is the TLS configuration of a Docker context's endpoint.
func contextTLS(ep ddocker.Endpoint) (*tls.Config, error) {
	tlsc := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: ep.SkipTLSVerify}
	if ep.TLSData == nil {
		return tlsc, nil
	}
	if len(ep.TLSData.CA) > 0 {
		tlsc.RootCAs = x509.NewCertPool()
		if !tlsc.RootCAs.AppendCertsFromPEM(ep.TLSData.CA) {
			return nil, errors.New("its CA holds no PEM certificate")
		}
	}
	if len(ep.TLSData.Cert) > 0 {
		cert, err := tls.X509KeyPair(ep.TLSData.Cert, ep.TLSData.Key)
		if err != nil {
			return nil, fmt.Errorf("reading its client certificate: %w", err)
		}
		tlsc.Certificates = []tls.Certificate{cert}
	}
	return tlsc, nil
}
