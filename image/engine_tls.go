package image

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	ddocker "github.com/docker/cli/cli/context/docker"
)

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
