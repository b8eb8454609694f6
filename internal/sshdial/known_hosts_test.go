package sshdial

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

func TestKnownHosts(t *testing.T) {
	t.Parallel()
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		dockertest.Missing(t, "sshd", err)
	}
	one, two := sshtest.NewKey(t, "ed25519").Line, sshtest.NewKey(t, "ecdsa").Line
	blob := strings.Fields(one)[1]
	tests := []struct {
		name, text, host string
		want             []int // the lines that are about the host
	}{
		{"plain", "host " + one + "\n", "host", []int{1}},
		{"comments and blanks", "# host " + one + "\n\n \t\nhost " + one + " a comment\n", "host", []int{4}},
		{"several names and keys", "a,host,b " + one + "\nhost " + two + "\nb " + one + "\n", "host", []int{1, 2}},
		{"capitals in the file", "HOST,Other " + one + "\n", "host", []int{1}},
		{"patterns", "*.example.com,!bad.example.com " + one + "\n", "ok.example.com", []int{1}},
		{"negated", "*.example.com,!bad.example.com " + one + "\n", "bad.example.com", nil},
		{"ports", "[host]:2222 " + one + "\nhost " + one + "\n", "[host]:2222", []int{1}},
		{"patterns of ports", "[*]:2222 " + one + "\n[host]:* " + one + "\n", "[host]:2222", []int{1, 2}},
		{"addresses", "::1 " + one + "\n[::1]:22 " + one + "\n", "::1", []int{1}},
		{"markers", "@cert-authority host " + one + "\n@revoked host\t" + two + "\nhost " + two + "\n", "host", []int{1, 2, 3}},
		{"marker for others", "@revoked other " + one + "\n", "host", nil},
		{"an unknown marker", "@foo host " + one + "\nhost " + one + "\n", "host", []int{2}},
		{"broken keys", "host ssh-ed25519 AAAA\nhost ssh-ed25519 !!!\nhost ssh-rsa " + blob + "\nhost\nhost ssh-ed25519\n@revoked\nhost " + one, "host", []int{7}},
		{"an old key of version 1", "host 1024 35 12345678901234567890\nhost " + one + "\n", "host", []int{2}},
		{"indented, with CRLF", "  host  " + one + "\r\n", "host", []int{1}},
		{"no hash", "|1|x|y " + one + "\n|1|aGk=|aGk= " + one + "\n|2|a|b " + one + "\n|1| " + one + "\n", "host", nil},
		{"empty", "", "host", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, linesOf(knownHosts([]byte(test.text), "f", test.host))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if test.text == "" || test.name == "broken keys" { // ssh-keygen does not read keys here
				return
			}
			path := filepath.Join(t.TempDir(), "known_hosts")
			write(t, path, test.text)
			out, _ := exec.CommandContext(t.Context(), keygen, "-F", test.host, "-f", path).Output() // fails where it finds none
			var found []int
			for line := range strings.Lines(string(out)) {
				var n int
				if _, err := fmt.Sscanf(line, "# Host "+strings.ReplaceAll(test.host, "%", "%%")+" found: line %d", &n); err == nil {
					found = append(found, n)
				}
			}
			if diff := cmp.Diff(found, test.want); diff != "" {
				t.Errorf("lines (-ssh-keygen +want):\n%s", diff)
			}
		})
	}
}

func TestKnownHostsHashed(t *testing.T) {
	t.Parallel()
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		dockertest.Missing(t, "sshd", err)
	}
	path := filepath.Join(t.TempDir(), "known_hosts")
	key := sshtest.NewKey(t, "ed25519").Line
	write(t, path, "host "+key+"\n[host]:2222 "+key+"\nother "+key+"\n")
	if out, err := exec.CommandContext(t.Context(), keygen, "-H", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string][]int{"host": {1}, "[host]:2222": {2}, "hos": nil} {
		found, err := readKnownHosts([]string{"/nonexistent/x", path}, name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, linesOf(found)); diff != "" {
			t.Errorf("%s: lines (-want +got):\n%s", name, diff)
		}
	}
}

func TestKnownHostsUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := readKnownHosts([]string{dir}, "host")
	if want := dir + ": host keys cannot be read: is a directory"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func linesOf(keys []knownKey) []int {
	var lines []int
	for _, k := range keys {
		lines = append(lines, k.line)
	}
	return lines
}

func FuzzKnownHosts(f *testing.F) {
	key := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
	for _, s := range []string{"host " + key, "@revoked * " + key, "|1|a|b " + key, "a,!b " + key + " c", "@", "# x", "host ssh-rsa AAAA"} {
		f.Add(s, "host")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		for _, k := range knownHosts([]byte(text), "f", name) {
			line := strings.Split(text, "\n")[k.line-1]
			if k.key == nil || !slices.Contains(strings.Fields(line), k.key.Type()) {
				t.Errorf("line %d %q gives %+v", k.line, line, k)
			}
		}
	})
}
