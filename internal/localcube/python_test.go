package localcube_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

// The clients that people use, in the versions that the contract names.
var clients = []string{"cubesandbox==0.7.3", "e2b==2.29.5"}

// TestCubeSandboxClient uses the local Cube through CubeSandbox's own Python client.
func TestCubeSandboxClient(t *testing.T) {
	t.Parallel()
	python := pythonWith(t)
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	shared := sharedRoot(t)
	st := serve(t, localcube.Options{Docker: engine.Client, SharedRoot: shared})
	run(t, st, nil, python, "testdata/cubesandbox_client.py", template(t, st), shared)
}

// TestE2BClient uses the local Cube through E2B's Python client, over TLS.
func TestE2BClient(t *testing.T) {
	t.Parallel()
	python := pythonWith(t)
	engine := dockertest.Default(t)
	engine.NeedBase(t)
	cert, key := certificate(t, "*.cube.test")
	port, shared := freePort(t), sharedRoot(t)
	st := serve(t, localcube.Options{
		Docker: engine.Client, Domain: "cube.test", TLS: "127.0.0.1:" + port, CertFile: cert, KeyFile: key, SharedRoot: shared,
	})
	run(t, st, []string{"SSL_CERT_FILE=" + cert}, python, "testdata/e2b_client.py", template(t, st), port, shared)
}

// sharedRoot is a shared root with one directory to write to and one to read.
func sharedRoot(t *testing.T) string {
	t.Helper()
	shared := t.TempDir()
	for _, dir := range []string{"rw", "ro"} {
		if err := os.Mkdir(filepath.Join(shared, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return shared
}

func run(t *testing.T, st localcube.Status, env []string, python string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(os.Environ(), "IMAGE="+dockertest.BaseImage, "PYTHONDONTWRITEBYTECODE=1")
	for _, v := range st.Variables() {
		cmd.Env = append(cmd.Env, v[0]+"="+v[1])
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, out)
	}
	t.Logf("%s", out)
}

// pythonWith is a Python that has the clients; it is made once and kept.
func pythonWith(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "hermesbox-test", strings.Join(clients, "-"))
	python := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return python
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "new") //nolint:usetesting // it is kept
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(fresh) }) // renamed away where all went well
	for _, args := range [][]string{{"python3", "-m", "venv", fresh}, append([]string{fresh + "/bin/python", "-m", "pip", "install", "-q"}, clients...)} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			dockertest.Missing(t, "python", string(out)+err.Error())
		}
	}
	if err := os.WriteFile(filepath.Join(fresh, "complete"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) && !strings.Contains(err.Error(), "not empty") {
		t.Fatal(err)
	}
	return python
}

// template makes one of the stand-in base and waits until it is ready.
func template(t *testing.T, st localcube.Status) string {
	t.Helper()
	return templateOf(t, st, `{"image":"`+dockertest.BaseImage+`","exposedPorts":[9000,49983],"probePort":49983}`)
}

func templateOf(t *testing.T, st localcube.Status, body string) string {
	t.Helper()
	resp, err := http.Post(st.APIURL+"/templates", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		ID string `json:"templateID"`
	}
	decode(t, resp, &job)
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(st.APIURL + "/templates/" + job.ID)
		if err != nil {
			t.Fatal(err)
		}
		var now struct{ Status, LastError string }
		decode(t, resp, &now)
		switch {
		case now.Status == "READY":
			return job.ID
		case now.Status == "FAILED", time.Now().After(end):
			t.Fatalf("the template is %s: %s", now.Status, now.LastError)
		}
	}
}

func decode(t *testing.T, resp *http.Response, into any) {
	t.Helper()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// certificate makes one for a name that vouches for itself, so that it is its own CA.
func certificate(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}
