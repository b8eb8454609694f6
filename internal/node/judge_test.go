package node

import (
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
)

const mountinfo = `22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:26 / /data rw - xfs /dev/sdb rw
31 30 0:27 / /data/shared/with\040blank rw - tmpfs tmpfs rw
32 30 0:28 / /data/over rw - ext4 /dev/sdc rw
33 30 0:29 / /data/over rw master:7 - nfs4 server:/x rw
garbage
34 30 0:30 - short
`

func TestFileSystem(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/": "ext4", "/srv": "ext4", "/data": "xfs", "/data/shared": "xfs", "/database": "ext4", "/data/shared/with blank/x": "tmpfs", "/data/over/x": "nfs4",
	} {
		if got := fileSystem(mountinfo, path); got != want {
			t.Errorf("%s is on %q, want %q", path, got, want)
		}
	}
	if got := fileSystem("", "/"); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("time\x001\x00dir\x000 0 755 /a\x00end\x00\x00", mountinfo)
	f.Add("end\x00\x00", "x - ")
	f.Add("made\x00/a\x00refused\x00/b\x00problem\x00it is a link\x00end\x00\x00", "")
	f.Fuzz(func(t *testing.T, text, mounts string) {
		answers, err := answer.Parse([]byte(text))
		if err != nil {
			return
		}
		if strings.Count(text, "\x00") != 2*len(answers)+2 {
			t.Errorf("%d answers in %q", len(answers), text)
		}
		var found facts
		for _, a := range append(answers, answer.Pair{Key: "mounts", Value: mounts}) {
			found.take(a)
		}
		if _, err := readPrepared("n", answers); err != nil && !strings.Contains(err.Error(), "on node n") {
			t.Error(err)
		}
	})
}

func TestClock(t *testing.T) {
	t.Parallel()
	here := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		there int64
		want  check.Status
		says  string
	}{
		{0, check.Pass, ""},
		{-2, check.Pass, ""}, // the answer took 3 s, and the node tells whole seconds
		{7, check.Pass, ""},
		{-10, check.Warn, "behind"},
		{20, check.Warn, "ahead"},
		{-40, check.Fail, "behind"},
		{90_000, check.Fail, "ahead"},
	} {
		f := facts{before: here, after: here.Add(5 * time.Second), time: here.Unix() + test.there}
		if got := f.judgeClock(); got.Status != test.want || !strings.Contains(got.Evidence, test.says) {
			t.Errorf("%d s: %+v, want %s", test.there, got, test.want)
		}
	}
	if got := (facts{time: -1}).judgeClock(); got.Status != check.Warn {
		t.Errorf("no time: %+v", got)
	}
}

func TestJudges(t *testing.T) {
	t.Parallel()
	spec := Spec{Dirs: []Dir{{Path: "/data/shared"}, {Path: "/data/shared/homes"}}, Prefixes: []string{"/data/shared/"}}
	evil := spec
	evil.Dirs = []Dir{{Path: "/data/shared-evil"}}
	at := func(change func(*facts)) facts {
		f := facts{real: "/data/shared", fs: "ext4", free: 100 << 20, inodes: 1 << 20, able: []string{"modes"}}
		change(&f)
		return f
	}
	for _, test := range []struct {
		name string
		got  check.Result
		want check.Status
		says string
	}{
		{"tools", facts{}.judgeTools(), check.Pass, ""},
		{"no tar", facts{missing: []string{"flock", "tar"}}.judgeTools(), check.Fail, "flock, tar"},
		{"no flock", facts{missing: []string{"flock"}}.judgeTools(), check.Warn, "no flock"},
		{"prefix", judgePrefix(spec), check.Pass, ""},
		{"another prefix", judgePrefix(evil), check.Warn, "/data/shared-evil"},
		{"root is a link", facts{links: []string{"/data/shared"}}.judgeRoot(spec), check.Fail, "is a link"},
		{"root is a file", facts{others: []string{"/data/shared"}}.judgeRoot(spec), check.Fail, "no directory"},
		{"parent of another", at(func(f *facts) { f.parents = []owned{{"/data", 1000, 0, 0o755, true}} }).judgeRoot(spec), check.Warn, "user 1000"},
		{"parent open to all", at(func(f *facts) { f.parents = []owned{{"/data", 0, 0, 0o777, true}} }).judgeRoot(spec), check.Warn, "0777"},
		{"parent as /tmp", at(func(f *facts) { f.parents = []owned{{"/data", 0, 0, 0o1777, true}} }).judgeRoot(spec), check.Pass, ""},
		{"root open to all", at(func(f *facts) { f.dirs = []owned{{"/data/shared", 0, 0, 0o777, true}} }).judgeRoot(spec), check.Warn, "0777"},
		{"no stat", at(func(f *facts) { f.parents = []owned{{path: "/data"}} }).judgeRoot(spec), check.Pass, ""},
		{"nfs", at(func(f *facts) { f.fs = "nfs4" }).judgeFileSystem(), check.Warn, "nfs4"},
		{"fuse", at(func(f *facts) { f.fs = "fuse.sshfs" }).judgeFileSystem(), check.Warn, "fuse.sshfs"},
		{"tmpfs", at(func(f *facts) { f.fs = "tmpfs" }).judgeFileSystem(), check.Warn, "lost"},
		{"unknown", at(func(f *facts) { f.fs = "" }).judgeFileSystem(), check.Warn, "does not tell"},
		{"ext4", at(func(*facts) {}).judgeFileSystem(), check.Pass, "ext4"},
		{"read-only", at(func(f *facts) { f.unwritable = "Read-only file system" }).judgeProbe(), check.Fail, "Read-only"},
		{"no locks", at(func(f *facts) { f.unable = []string{"locking files: no"} }).judgeProbe(), check.Fail, "locking files"},
		{"no room", at(func(f *facts) { f.free = 1000 }).judgeSpace(), check.Fail, "0.0 GiB"},
		{"little room", at(func(f *facts) { f.free = 2 << 20 }).judgeSpace(), check.Warn, "2.0 GiB"},
		{"no inodes", at(func(f *facts) { f.inodes = 0 }).judgeSpace(), check.Fail, "0 inodes"},
		{"few inodes", at(func(f *facts) { f.inodes = 50_000 }).judgeSpace(), check.Warn, "50000 inodes"},
		{"inodes without number", at(func(f *facts) { f.inodes = -1 }).judgeSpace(), check.Pass, "GiB free"},
		{"no df", at(func(f *facts) { f.free = -1 }).judgeSpace(), check.Warn, "does not tell"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bad := test.want == check.Fail || test.want == check.Warn
			if test.got.Status != test.want || !strings.Contains(test.got.Evidence, test.says) || bad == (test.got.Remedy == "") {
				t.Errorf("%+v, want %s and %q", test.got, test.want, test.says)
			}
		})
	}
}

func TestParseOwned(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]owned{
		"0 5 1777 /a b":    {"/a b", 0, 5, 0o1777, true},
		" /no/stat":        {path: "/no/stat"},
		"0 0 9 /bad octal": {path: "0 0 9 /bad octal"},
	} {
		if got := parseOwned(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
