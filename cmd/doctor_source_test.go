package cmd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestDoctorSource looks at sources, and at what git says of them.
func TestDoctorSource(t *testing.T) {
	t.Parallel()
	const gone = "DOCKER_HOST=unix:///no.sock"
	for name, tt := range map[string]struct {
		make        func(t *testing.T, dir string)
		config      string
		env         string
		source, git want
	}{
		"well": {
			make:   func(t *testing.T, dir string) { commit(t, dir) },
			source: want{"pass", "1 file,", ""}, git: want{"pass", "", ""},
		},
		"changed": {
			make: func(t *testing.T, dir string) {
				commit(t, dir)
				write(t, filepath.Join(dir, "pyproject.toml"), "[project]\nname = 'b'\n")
			},
			source: want{"pass", "", ""}, git: want{"pass", "with changes that are in no commit", ""},
		},
		"no commit": {
			make:   func(t *testing.T, dir string) { git(t, dir, "init", "-q") },
			source: want{"pass", "", ""}, git: want{"warn", "git says", ""},
		},
		"missing": {
			make:   func(t *testing.T, dir string) { remove(t, dir) },
			source: want{"fail", "", "name the directory of a Hermes Agent checkout"}, git: want{"skip", "not judged because source", ""},
		},
		"empty": {
			make:   func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "pyproject.toml")) },
			source: want{"fail", "", "hermesbox context check says what was left out"}, git: want{"skip", "", ""},
		},
		"another project": {
			make: func(t *testing.T, dir string) {
				remove(t, filepath.Join(dir, "pyproject.toml"))
				write(t, filepath.Join(dir, "package.json"), "{}")
			},
			source: want{"fail", "no pyproject.toml among them", "name the directory of a Hermes Agent checkout"}, git: want{"skip", "no git checkout", ""},
		},
		"littered": {
			make: func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, ".DS_Store"), "x")
				write(t, filepath.Join(dir, "._a"), "\x00\x05\x16\x07")
			},
			source: want{"pass", "2 left out, of which 2 litter", ""}, git: want{"skip", "", ""},
		},
		"look-alike": {
			make:   func(t *testing.T, dir string) { write(t, filepath.Join(dir, "._SUCCESS"), "x") },
			source: want{"warn", `"._SUCCESS"`, "hermesbox context check "}, git: want{"skip", "", ""},
		},
		"a fifo": {
			make: func(t *testing.T, dir string) {
				if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			source: want{"fail", "pipe", "remove it, or exclude it"}, git: want{"skip", "not judged because source", ""},
		},
		"a wrong time": {
			make: func(t *testing.T, dir string) { commit(t, dir) }, env: "SOURCE_DATE_EPOCH=soon",
			source: want{"pass", "", ""}, git: want{"fail", `"soon"`, "SOURCE_DATE_EPOCH"},
		},
		"not to be read": {
			make: func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, "private"), "x")
				if err := os.Chmod(filepath.Join(dir, "private"), 0); err != nil {
					t.Fatal(err)
				}
				if f, err := os.Open(filepath.Join(dir, "private")); err == nil {
					_ = f.Close()
					t.Skip("this user can read all")
				}
			},
			source: want{"fail", "private", "make it readable"}, git: want{"skip", "", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "source")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "pyproject.toml"), "[project]\nname = 'a'\n")
			tt.make(t, dir)
			for _, found := range []map[string]finding{
				diagnose(t, "", []string{gone, tt.env}, dir),
				diagnose(t, "source: "+dir+"\n", []string{gone, tt.env}),
			} {
				tt.source.of(t, found["source"])
				tt.git.of(t, found["git"])
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all")
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestDoctorNoGit has no git in PATH.
func TestDoctorNoGit(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pyproject.toml"), "[project]\n")
	commit(t, dir)
	t.Setenv("PATH", t.TempDir())
	found := diagnose(t, "", []string{"DOCKER_HOST=unix:///no.sock"}, dir)
	want{"warn", "executable file not found", "install git"}.of(t, found["git"])
}

// TestDoctorFiles looks at the files that a build is given.
func TestDoctorFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	good, old := certificate(t, now.Add(time.Hour)), certificate(t, now.Add(-24*time.Hour))
	for name, text := range map[string]string{"good.pem": good, "old.pem": old, "both.pem": good + old, "garbage": "garbage"} {
		write(t, filepath.Join(dir, name), text)
	}
	for name, tt := range map[string]struct {
		id, config string
		want       want
	}{
		"certificates":       {"ca-bundle", "ca_bundle: " + dir + "/good.pem", want{"pass", "certificates: 1", ""}},
		"none named":         {"ca-bundle", "", want{"skip", "image.ca_bundle is not set", ""}},
		"no such file":       {"ca-bundle", "ca_bundle: " + dir + "/none.pem", want{"fail", "none.pem", "name a PEM file"}},
		"no certificates":    {"ca-bundle", "ca_bundle: " + dir + "/garbage", want{"fail", "holds no PEM certificate", "name a PEM file"}},
		"expired":            {"ca-bundle", "ca_bundle: " + dir + "/old.pem", want{"fail", "the last on " + now.Add(-24*time.Hour).UTC().Format(time.DateOnly), "get the new certificate"}},
		"one expired":        {"ca-bundle", "ca_bundle: " + dir + "/both.pem", want{"warn", "1 of 2 certificates", "get the new certificate"}},
		"no package named":   {"web-ui-package", "", want{"skip", "npm registry", ""}},
		"no such package":    {"web-ui-package", "web_ui: {package: " + dir + "/none.tgz}", want{"fail", "none.tgz", "make one with npm pack"}},
		"not a package":      {"web-ui-package", "web_ui: {package: " + dir + "/garbage}", want{"fail", "not a gzipped tar", "make one with npm pack"}},
		"a directory for it": {"web-ui-package", "web_ui: {package: " + dir + "}", want{"fail", "is no file", "make one with npm pack"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := diagnose(t, "image: {"+tt.config+"}\n", []string{"DOCKER_HOST=unix:///no.sock"})
			tt.want.of(t, found[tt.id])
		})
	}
}

// TestDoctorSkills looks at public skills.
func TestDoctorSkills(t *testing.T) {
	t.Parallel()
	const well = "---\nname: a-skill\ndescription: What it is good for.\n---\n\nText.\n"
	for name, tt := range map[string]struct {
		file, text, config string
		want               want
	}{
		"well":          {"a-skill/SKILL.md", well, "", want{"pass", "every check passed", ""}},
		"none":          {"", "", "", want{"skip", "there is no directory", ""}},
		"none as named": {"", "", "skills: {source: nowhere}\n", want{"fail", "nowhere", "correct skills.source"}},
		"no name":       {"a-skill/SKILL.md", "text\n", "", want{"fail", "frontmatter: a-skill/SKILL.md", "begin the file with --- lines"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.file != "" {
				path := filepath.Join(dir, "skills/public", tt.file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, path, tt.text)
			}
			file := filepath.Join(dir, "hermesbox.yaml")
			write(t, file, tt.config)
			found := diagnosed(t, hermesbox(t, []string{"DOCKER_HOST=unix:///no.sock"}, "doctor", "--config", file, "--output", "json"))
			tt.want.of(t, found["skills"])
		})
	}
}

// certificate is one in PEM form.
func certificate(t *testing.T, until time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-48 * time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestDoctorUsage: what is no question for doctor is said before anybody is asked.
func TestDoctorUsage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args   []string
		config string
		says   string
	}{
		"a tar":         {[]string{"-"}, "", "doctor reads no tar"},
		"two sources":   {[]string{"a", "b"}, "", "at most 1 argument"},
		"configuration": {nil, "nonsense: 1\n", "nonsense"},
		"Dockerfile":    {nil, "image: {dockerfile: /no/such}\n", "/no/such"},
		"an address":    {nil, "cube: {api_url: \"http://me:secret-word@10.0.0.1\"}\n", "without user and password"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "hermesbox.yaml")
			write(t, file, tt.config)
			got := hermesbox(t, nil, append([]string{"doctor", "--config", file}, tt.args...)...)
			got.expect(t, 2, tt.says, "hint: ")
			if got.stdout != "" {
				t.Errorf("standard output: %s", got.stdout)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "hermesbox.yaml")
	write(t, file, "")
	write(t, filepath.Join(filepath.Dir(file), "hermesbox.lock"), "{")
	hermesbox(t, nil, "doctor", "--config", file).expect(t, 2, "hermesbox.lock")
}
