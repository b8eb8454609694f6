package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/node"
)

// result is what a script left behind.
type result struct {
	Code           int
	Stdout, Stderr string
}

// run runs a script that must start and end.
func run(t *testing.T, n node.Node, s node.Script) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	s.Stdout, s.Stderr = &stdout, &stderr
	code, err := n.Run(t.Context(), s)
	if err != nil {
		t.Fatalf("Run: %v\nstdout %.300q\nstderr %.300q", err, stdout.String(), stderr.String())
	}
	return result{code, stdout.String(), stderr.String()}
}

// conform is what holds for every kind of node.
func conform(t *testing.T, n node.Node) {
	t.Run("scripts", func(t *testing.T) { conformScripts(t, n) })
	t.Run("arguments", func(t *testing.T) { conformArguments(t, n) })
	t.Run("streams", func(t *testing.T) { conformStreams(t, n) })
	t.Run("ends", func(t *testing.T) { conformEnds(t, n) })
	t.Run("concurrent", func(t *testing.T) { conformConcurrent(t, n) })
	t.Run("cancelled", func(t *testing.T) { conformCancelled(t, n) })
}

func conformScripts(t *testing.T, n node.Node) {
	for _, test := range []struct {
		name   string
		script string
		want   result
	}{
		{"nothing", "", result{}},
		{"surroundings", `id -u; pwd; umask; echo "$LC_ALL"`, result{Stdout: "0\n/\n0022\nC\n"}},
		{"both streams", "echo out; echo err >&2", result{Stdout: "out\n", Stderr: "err\n"}},
		{"exit code", "exit 7", result{Code: 7}},
		{"the highest exit code", "exit 128", result{Code: 128}},
		{"code of the last command", "false", result{Code: 1}},
		{"no line end", "printf a; printf b >&2", result{Stdout: "a", Stderr: "b"}},
		{"missing command", "no-such-command 2>/dev/null", result{Code: 127}},
		{"stops at a failure", "set -e; echo a; false; echo b", result{Code: 1, Stdout: "a\n"}},
		{"exit trap", "trap 'echo bye' EXIT; echo hi; exit 3", result{Code: 3, Stdout: "hi\nbye\n"}},
		{"closed streams", "exec >&- 2>&-; exit 4", result{Code: 4}},
		{"what shells expand", `printf '%s' '$HOME !! \ "' "'" '* ~ ;&|<>()#` + "`" + `'`, result{Stdout: `$HOME !! \ "'* ~ ;&|<>()#` + "`"}},
		{"here document", "cat <<'E'\na $x\n\tb\\\nE\necho c", result{Stdout: "a $x\n\tb\\\nc\n"}},
		{"comment at the end", "echo a # b", result{Stdout: "a\n"}},
		{"empty input", "cat; echo done", result{Stdout: "done\n"}},
		{"100 kB", strings.Repeat("# a line that does nothing at all, to be long\n", 2200) + "echo long", result{Stdout: "long\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, run(t, n, node.Script{Text: test.script})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := run(t, n, node.Script{Text: "echo a; if then"}); got.Code == 0 || got.Stderr == "" {
		t.Errorf("a syntax error: %+v", got)
	}
}

func conformArguments(t *testing.T, n node.Node) {
	all := make([]byte, 0, 255)
	for b := 1; b < 256; b++ {
		all = append(all, byte(b))
	}
	args := []string{
		"", "plain", "two words", `it's "quoted"`, `\`, `\\'`, "-n", "a\nb\n", "\n", "naïve ✓", "!!", "$(id)`id`", "*", string(all), strings.Repeat("long", 50_000), "",
	}
	got := run(t, n, node.Script{Text: `echo $#; for a; do printf '%s' "$a" | wc -c; printf '%s' "$a"; done`, Args: args})
	var want strings.Builder
	fmt.Fprintln(&want, len(args))
	for _, arg := range args {
		fmt.Fprintf(&want, "%d\n%s", len(arg), arg)
	}
	if got.Stdout != want.String() || got.Code != 0 || got.Stderr != "" {
		t.Errorf("arguments came as %q\nwant %q\nstderr %s", short(got.Stdout), short(want.String()), got.Stderr)
	}
	for _, s := range []node.Script{{Text: "echo \x00"}, {Text: "true", Args: []string{"a", "\x00"}}} {
		if _, err := n.Run(t.Context(), s); !errors.Is(err, node.ErrNotStarted) {
			t.Errorf("a NUL byte: %v", err)
		}
	}
}

func short(s string) string { return s[:min(len(s), 1500)] }

func conformStreams(t *testing.T, n node.Node) {
	data := make([]byte, 10<<20)
	if _, err := rand.NewChaCha8([32]byte{7}).Read(data); err != nil {
		t.Fatal(err)
	}
	got := run(t, n, node.Script{Text: "cat; echo $1 >&2", Args: []string{"told"}, Stdin: bytes.NewReader(data)})
	if sha256.Sum256([]byte(got.Stdout)) != sha256.Sum256(data) || got.Stderr != "told\n" || got.Code != 0 {
		t.Errorf("10 MiB came back as %d bytes, code %d, stderr %q", len(got.Stdout), got.Code, got.Stderr)
	}
	got = run(t, n, node.Script{Text: "head -c 3; exit 5", Stdin: bytes.NewReader([]byte("abcdef"))})
	if diff := cmp.Diff(result{Code: 5, Stdout: "abc"}, got); diff != "" {
		t.Errorf("input that is not all read (-want +got):\n%s", diff)
	}
	got = run(t, n, node.Script{Text: "exit 6", Stdin: bytes.NewReader(data)})
	if diff := cmp.Diff(result{Code: 6}, got); diff != "" {
		t.Errorf("much input that is not read (-want +got):\n%s", diff)
	}
	if code, err := n.Run(t.Context(), node.Script{Text: "echo a; echo b >&2; exit 9"}); code != 9 || err != nil {
		t.Errorf("streams that nobody wants: %d, %v", code, err)
	}
	var broken brokenWriter
	if _, err := n.Run(t.Context(), node.Script{Text: "cat", Stdin: bytes.NewReader(data), Stdout: broken}); !errors.Is(err, errBroken) {
		t.Errorf("an output that cannot be written: %v", err)
	}
}

var errBroken = errors.New("no space left")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func conformEnds(t *testing.T, n node.Node) {
	for _, test := range []struct {
		name   string
		script string
		want   error
	}{
		{"killed itself", "sh -c 'kill -9 $PPID'; sleep 9", node.ErrSignal},
		{"high exit code", "exit 255", node.ErrSignal},
	} {
		t.Run(test.name, func(t *testing.T) {
			if code, err := n.Run(t.Context(), node.Script{Text: test.script}); !errors.Is(err, test.want) {
				t.Errorf("Run: %d, %v, want %v", code, err, test.want)
			}
		})
	}
}

func conformConcurrent(t *testing.T, n node.Node) {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			var out strings.Builder
			want := strings.Repeat(fmt.Sprintf("%d ", i), 1000)
			code, err := n.Run(t.Context(), node.Script{Text: `cat; exit $1`, Args: []string{fmt.Sprint(i)}, Stdin: strings.NewReader(want), Stdout: &out})
			if err != nil || code != i || out.String() != want {
				t.Errorf("run %d: code %d, %v, output %.40q", i, code, err, out.String())
			}
		})
	}
	all.Wait()
}

// notice is called at the first output.
type notice func()

func (n notice) Write(p []byte) (int, error) {
	n()
	return len(p), nil
}

// conformCancelled ends a script that would run for long, before and while it runs.
func conformCancelled(t *testing.T, n node.Node) {
	ctx, cancel := context.WithCancel(t.Context())
	start := time.Now()
	_, err := n.Run(ctx, node.Script{Text: "echo started; sleep 120", Stdout: notice(cancel)})
	if !errors.Is(err, context.Canceled) || time.Since(start) > 30*time.Second {
		t.Errorf("a cancelled Run: %v after %v", err, time.Since(start))
	}
	if _, err := n.Run(ctx, node.Script{Text: "true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a Run with an ended context: %v", err)
	}
	if got := run(t, n, node.Script{Text: "echo again"}); got.Stdout != "again\n" {
		t.Errorf("after a cancelled Run: %+v", got)
	}
}
