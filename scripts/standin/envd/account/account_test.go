package account

import (
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

var someone = &user.User{Username: "someone", HomeDir: "/home/someone", Uid: "1", Gid: "2"}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, workdir, want, err string }{
		{"", "", "/home/someone", ""},
		{"", "~", "/home/someone", ""},
		{"", "~/w", "/home/someone/w", ""},
		{"", "w", "/home/someone/w", ""},
		{"", "/w", "/w", ""},
		{"a/../b", "/w", "/home/someone/b", ""},
		{"~", "/w", "/home/someone", ""},
		{"~/", "", "/home/someone", ""},
		{"~/x", "", "/home/someone/x", ""},
		{"/a/../b/", "", "/a/../b/", ""},
		{"~root", "", "", "failed to expand path '' for user 'someone': cannot expand user-specific home dir"},
		{"", "~root", "", "cannot expand user-specific home dir"},
	} {
		got, err := Resolve(test.path, someone, test.workdir)
		if got != test.want || test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("Resolve(%q, %q) = %q, %v; want %q, %q", test.path, test.workdir, got, err, test.want, test.err)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"", "~", "~/a", "~root", "/a/", "a/../../..", "~\\x", "\x00", "..//."} {
		f.Add(seed, "")
		f.Add("", seed)
	}
	f.Fuzz(func(t *testing.T, path, workdir string) {
		got, err := Resolve(path, someone, workdir)
		if err == nil && !filepath.IsAbs(got) {
			t.Errorf("Resolve(%q, %q) = %q, which is not absolute", path, workdir, got)
		}
		if filepath.IsAbs(path) && got != path {
			t.Errorf("Resolve(%q) = %q", path, got)
		}
	})
}

func TestMakeDirs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := MakeDirs(dir+"/a/b/c/", os.Getuid(), os.Getgid()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir + "/a/b/c")
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if err := MakeDirs(dir+"/a/b/c", os.Getuid(), os.Getgid()); err != nil {
		t.Errorf("again: %v", err)
	}
	file := dir + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeDirs(file+"/x", os.Getuid(), os.Getgid()); err == nil || err.Error() != "path is a file: "+file {
		t.Errorf("below a file: %v", err)
	}
	if err := MakeDirs("/proc/x/y", os.Getuid(), os.Getgid()); err == nil || !strings.Contains(err.Error(), "failed to create directory: mkdir /proc/x") {
		t.Errorf("where nothing can be made: %v", err)
	}
	if err := MakeDirs(dir+"/a\x00", os.Getuid(), os.Getgid()); err == nil || !strings.Contains(err.Error(), "failed to stat directory") {
		t.Errorf("with a NUL: %v", err)
	}
}

func TestFromBasic(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	for _, header := range []string{"", "Bearer abc", "Basic %%%"} {
		r.Header.Set("Authorization", header)
		if u, err := FromBasic(r); u != nil || err != nil {
			t.Errorf("%q: %v, %v", header, u, err)
		}
	}
	r.SetBasicAuth(me.Username, "ignored")
	u, err := FromBasic(r)
	if err != nil || u.Uid != me.Uid {
		t.Errorf("me: %v, %v", u, err)
	}
	if got, err := From(With(t.Context(), u), "nosuch"); err != nil || got != u {
		t.Errorf("From: %v, %v", got, err)
	}
	if got, err := From(With(t.Context(), nil), me.Username); err != nil || got.Uid != me.Uid {
		t.Errorf("From without one: %v, %v", got, err)
	}
	if _, err := From(t.Context(), "nosuch"); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("From, unknown: %v", err)
	}
	r.SetBasicAuth("nosuch", "")
	if _, err := FromBasic(r); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("unknown: %v", err)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	uid, gid, err := IDs(someone)
	if uid != 1 || gid != 2 || err != nil {
		t.Errorf("%d %d %v", uid, gid, err)
	}
	for _, u := range []*user.User{{Uid: "x", Gid: "1"}, {Uid: "1", Gid: "x"}} {
		if _, _, err := IDs(u); err == nil {
			t.Errorf("%v: no error", u)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if groups, err := Groups(me); err != nil || len(groups) == 0 {
		t.Errorf("Groups: %v, %v", groups, err)
	}
}
