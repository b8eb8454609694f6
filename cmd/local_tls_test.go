package cmd_test

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// writePair writes the certificate and the key of httptest's servers.
func writePair(t *testing.T, dir string) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServeTellsTLS: where the proxy speaks TLS is told when it starts and by status, but not in the status's JSON.
func TestServeTellsTLS(t *testing.T) {
	t.Parallel()
	engine, dir := dockertest.Default(t), t.TempDir()
	writePair(t, dir)
	const free = "127.0.0.1:0"
	serve := prepare(t.Context(), t, dir, engine, "local", "serve", "--state-dir", "state", "--api", free, "--master", free, "--proxy", free,
		"--proxy-tls", free, "--proxy-cert", "cert", "--proxy-key", "key")
	stderr, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, found, ok := strings.Cut(lines.Text(), "the proxy also speaks TLS on "); ok {
			address = found
		}
		if !strings.Contains(lines.Text(), "no security boundary") {
			continue
		}
		text := must(t, dir, engine, "local", "status", "--state-dir", "state")
		if !strings.HasPrefix(address, "https://127.0.0.1:") || !strings.Contains(text, ", "+address+"\n") {
			t.Errorf("told %q at the start, then\n%s", address, text)
		}
		if got := must(t, dir, engine, "local", "status", "--state-dir", "state", "--output", "json"); strings.Contains(got, "https") {
			t.Errorf("the JSON has another key: %s", got)
		}
		must(t, dir, engine, "local", "down", "--state-dir", "state")
	}
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
}
