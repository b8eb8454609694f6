package egress

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestSupported also runs as a process without privileges, started by the test after it.
func TestSupported(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		newSpace(t) // Missing where root may not either
		return
	}
	own := Target{
		ID: "own", NetNS: "/proc/self/ns/net", Host: "/proc/self/ns/net",
		Address: netip.MustParseAddr("192.0.2.1"), MAC: make(net.HardwareAddr, 6),
	}
	supported := Supported()
	_, applied := Apply(t.Context(), own, Rules{})
	_, listed := List(t.Context(), "")
	_, guarded := Guard(t.Context(), "", "lo")
	for want, err := range map[string]error{
		"run as root":                           supported,
		"applying egress rules to sandbox own:": applied,
		"listing egress rules:":                 listed,
		"guarding bridge lo:":                   guarded,
		"removing table hermesbox-own:":         Remove(t.Context(), "", "own"),
		"removing table hermesbox.guard-lo:":    Unguard(t.Context(), "", "lo"),
	} {
		if err == nil || !strings.Contains(err.Error(), syscall.EPERM.Error()) || !strings.Contains(err.Error(), want) {
			t.Errorf("without privileges: %v, want it not permitted and %q", err, want)
		}
	}
	if !errors.Is(supported, ErrUnsupported) {
		t.Errorf("Supported: %v", supported)
	}
}

func TestSupportedWithoutPrivileges(t *testing.T) {
	t.Parallel()
	newSpace(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(openDir(t), "test")
	if err := os.Link(program, copied); err != nil {
		run(t, "cp", program, copied)
	}
	cmd := exec.CommandContext(t.Context(), copied, "-test.run=^TestSupported$")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// openDir is a directory that everybody can enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

func TestEngineNetNS(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	got, err := EngineNetNS(t.Context(), socket)
	if want := "/proc/" + strconv.Itoa(os.Getpid()) + "/ns/net"; got != want || err != nil {
		t.Errorf("EngineNetNS: %q, %v, want %q", got, err, want)
	}
	_, err = EngineNetNS(t.Context(), socket+".gone")
	if err == nil || !strings.Contains(err.Error(), socket+".gone") {
		t.Errorf("EngineNetNS of no socket: %v", err)
	}
}
