package fsys

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem/filesystemconnect"
)

type client = filesystemconnect.FilesystemClient

func newClient(t *testing.T, change ...func(*Service)) client {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	store := settings.New(false)
	if err := store.Apply(settings.Update{DefaultUser: &me.Username}); err != nil {
		t.Fatal(err)
	}
	s := New(store)
	for _, c := range change {
		c(s)
	}
	mux := http.NewServeMux()
	mux.Handle(filesystemconnect.NewFilesystemHandler(s, connect.WithInterceptors(Legacy())))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return filesystemconnect.NewFilesystemClient(server.Client(), server.URL, connect.WithProtoJSON())
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, code connect.Code, message string) {
	t.Helper()
	if err == nil || connect.CodeOf(err) != code || !strings.Contains(err.Error(), message) {
		t.Errorf("error %v, want %v with %q", err, code, message)
	}
}

func stat(t *testing.T, c client, path string) (*filesystem.EntryInfo, error) {
	t.Helper()
	got, err := c.Stat(t.Context(), connect.NewRequest(&filesystem.StatRequest{Path: path}))
	if err != nil {
		return nil, err
	}
	return got.Msg.GetEntry(), nil
}

func TestStat(t *testing.T) {
	t.Parallel()
	c, dir := newClient(t), t.TempDir()
	write(t, dir+"/f")
	symlink(t, "f", dir+"/link")
	symlink(t, "nowhere", dir+"/dangling")
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir+"/f", 12345, 12345); err == nil {
		if e, err := stat(t, c, dir+"/f"); err != nil || e.GetOwner() != "12345" || e.GetGroup() != "12345" {
			t.Errorf("owner without a name: %v, %v", e, err)
		}
	}
	for _, test := range []struct {
		name   string
		typ    filesystem.FileType
		mode   uint32
		perm   string
		target string
	}{
		{"f", filesystem.FileType_FILE_TYPE_FILE, 0o600, "-rw-------", ""},
		{"", filesystem.FileType_FILE_TYPE_DIRECTORY, 0o755, "drwxr-xr-x", ""},
		{"link", filesystem.FileType_FILE_TYPE_FILE, 0o600, "Lrwxrwxrwx", dir + "/f"},
		{"dangling", filesystem.FileType_FILE_TYPE_UNSPECIFIED, 0, "Lrwxrwxrwx", dir + "/dangling"},
		{"fifo", filesystem.FileType_FILE_TYPE_UNSPECIFIED, 0o600, "prw-------", ""},
	} {
		e, err := stat(t, c, dir+"/"+test.name)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if e.GetType() != test.typ || e.GetMode() != test.mode || e.GetPermissions() != test.perm || e.GetSymlinkTarget() != test.target {
			t.Errorf("%s: %v", test.name, e)
		}
	}
	_, err := stat(t, c, dir+"/no")
	wantError(t, err, connect.CodeNotFound, "file not found: lstat ")
	_, err = stat(t, c, dir+"/f/x")
	wantError(t, err, connect.CodeInternal, "error getting file info: lstat ")
	_, err = stat(t, c, "~root")
	wantError(t, err, connect.CodeInvalidArgument, "cannot expand")
}

func TestMakeMoveRemove(t *testing.T) {
	t.Parallel()
	c, dir, ctx := newClient(t), t.TempDir(), t.Context()
	made := func(path string) error {
		_, err := c.MakeDir(ctx, connect.NewRequest(&filesystem.MakeDirRequest{Path: path}))
		return err
	}
	moved := func(from, to string) error {
		_, err := c.Move(ctx, connect.NewRequest(&filesystem.MoveRequest{Source: from, Destination: to}))
		return err
	}
	removed := func(path string) error {
		_, err := c.Remove(ctx, connect.NewRequest(&filesystem.RemoveRequest{Path: path}))
		return err
	}
	if err := made(dir + "/a/b"); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/a/f")
	wantError(t, made(dir+"/a"), connect.CodeAlreadyExists, "directory already exists: ")
	wantError(t, made(dir+"/a/f"), connect.CodeInvalidArgument, "it is not a directory")
	wantError(t, made(dir+"/a/f/x"), connect.CodeInternal, "error getting file info: stat ")
	wantError(t, made("/proc/x"), connect.CodeInternal, "failed to create directory: ")
	wantError(t, made("~root"), connect.CodeInvalidArgument, "cannot expand")
	if err := moved(dir+"/a/f", dir+"/n/g"); err != nil {
		t.Fatal(err)
	}
	wantError(t, moved(dir+"/no", dir+"/x"), connect.CodeNotFound, "source file not found: rename ")
	wantError(t, moved(dir+"/n", dir+"/n/g"), connect.CodeInternal, "error renaming: ")
	wantError(t, moved(dir+"/n", dir+"/n/g/x"), connect.CodeInternal, "path is a file: ")
	wantError(t, moved("~root", dir+"/x"), connect.CodeInvalidArgument, "cannot expand")
	wantError(t, moved(dir+"/n", "~root"), connect.CodeInvalidArgument, "cannot expand")
	for _, path := range []string{dir + "/n", dir + "/n"} {
		if err := removed(path); err != nil {
			t.Errorf("removing %s: %v", path, err)
		}
	}
	wantError(t, removed("/proc/version"), connect.CodeInternal, "error removing file or directory: ")
	wantError(t, removed("~root"), connect.CodeInvalidArgument, "cannot expand")
}

func TestListDir(t *testing.T) {
	t.Parallel()
	c, dir := newClient(t), t.TempDir()
	mkdir(t, dir+"/d/b/c")
	write(t, dir+"/d/b/c/f")
	write(t, dir+"/d/a")
	write(t, dir+"/d/.h")
	symlink(t, "d", dir+"/link")
	symlink(t, "loop", dir+"/loop")
	list := func(path string, depth uint32) ([]string, error) {
		got, err := c.ListDir(t.Context(), connect.NewRequest(&filesystem.ListDirRequest{Path: path, Depth: depth}))
		if err != nil {
			return nil, err
		}
		var paths []string
		for _, e := range got.Msg.GetEntries() {
			paths = append(paths, strings.TrimPrefix(e.GetPath(), dir))
		}
		return paths, nil
	}
	for _, test := range []struct {
		path  string
		depth uint32
		want  []string
	}{
		{"/d", 0, []string{"/d/.h", "/d/a", "/d/b"}},
		{"/d/", 2, []string{"/d/.h", "/d/a", "/d/b", "/d/b/c"}},
		{"/d", 4294967295, []string{"/d/.h", "/d/a", "/d/b", "/d/b/c", "/d/b/c/f"}},
		{"/link", 1, []string{"/link/.h", "/link/a", "/link/b"}},
	} {
		got, err := list(dir+test.path, test.depth)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", test.path, err, diff)
		}
	}
	for path, want := range map[string]struct {
		code    connect.Code
		message string
	}{
		dir + "/no":    {connect.CodeNotFound, "path not found: "},
		dir + "/d/a":   {connect.CodeInvalidArgument, "path is not a directory: "},
		dir + "/d/a/x": {connect.CodeInternal, "error resolving symlink: "},
		dir + "/loop":  {connect.CodeFailedPrecondition, "cyclic symlink"},
		"~root":        {connect.CodeInvalidArgument, "cannot expand"},
	} {
		_, err := list(path, 1)
		wantError(t, err, want.code, want.message)
	}
}

func TestLegacy(t *testing.T) {
	t.Parallel()
	c, dir := newClient(t), t.TempDir()
	mkdir(t, dir+"/d")
	write(t, dir+"/d/f")
	old := func(r connect.AnyRequest) { r.Header().Set("User-Agent", "connect-python") }
	listReq := connect.NewRequest(&filesystem.ListDirRequest{Path: dir + "/d"})
	old(listReq)
	list, err := c.ListDir(t.Context(), listReq)
	if err != nil || list.Header().Get("X-E2b-Legacy-Sdk") != "true" || len(list.Msg.GetEntries()) != 1 {
		t.Fatalf("ListDir: %v, %v", list, err)
	}
	statReq := connect.NewRequest(&filesystem.StatRequest{Path: dir + "/d/f"})
	old(statReq)
	stat, err := c.Stat(t.Context(), statReq)
	if err != nil {
		t.Fatal(err)
	}
	moveReq := connect.NewRequest(&filesystem.MoveRequest{Source: dir + "/d/f", Destination: dir + "/d/f"})
	old(moveReq)
	move, err := c.Move(t.Context(), moveReq)
	if err != nil {
		t.Fatal(err)
	}
	mkdirReq := connect.NewRequest(&filesystem.MakeDirRequest{Path: dir + "/d/new"})
	old(mkdirReq)
	made, err := c.MakeDir(t.Context(), mkdirReq)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*filesystem.EntryInfo{
		"ListDir": list.Msg.GetEntries()[0], "Stat": stat.Msg.GetEntry(), "Move": move.Msg.GetEntry(), "MakeDir": made.Msg.GetEntry(),
	} {
		if e.GetName() == "" || e.GetPath() == "" || e.GetType() == 0 || e.GetOwner() != "" || e.GetMode() != 0 || e.GetModifiedTime() != nil {
			t.Errorf("%s: %v", name, e)
		}
	}
	badReq := connect.NewRequest(&filesystem.StatRequest{Path: dir + "/no"})
	old(badReq)
	_, err = c.Stat(t.Context(), badReq)
	wantError(t, err, connect.CodeNotFound, "file not found")
}

func TestUnknownUser(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(s *Service) {
		name := "nosuch"
		if err := s.settings.Apply(settings.Update{DefaultUser: &name}); err != nil {
			t.Fatal(err)
		}
	})
	_, err := stat(t, c, "/")
	wantError(t, err, connect.CodeUnauthenticated, "invalid default user: 'nosuch'")
}
