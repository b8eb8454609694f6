package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

//go:generate env HERMESBOX_UPDATE=1 go test -count=1 -run ^TestReferenceIsCurrent$ .

// reference is where the help of every command is kept, for readers and as
// the golden text of --help.
const reference = "../docs/commands"

// TestReferenceIsCurrent compares docs/commands with what --help prints.
func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	root := newRoot(newApp(System{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}))
	walk(root, func(c *cobra.Command) { want[pageName(c)] = page(t, c) })
	if os.Getenv("HERMESBOX_UPDATE") != "" {
		writePages(t, want)
	}
	got := readPages(t)
	for name, text := range want {
		if diff := cmp.Diff(text, got[name]); diff != "" {
			t.Errorf("%s is out of date: run go generate ./cmd (-want +got):\n%s", name, diff)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s describes no command: run go generate ./cmd", name)
		}
	}
}

// walk visits a command and those below it, but no hidden ones.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			walk(sub, visit)
		}
	}
}

func pageName(c *cobra.Command) string {
	return strings.ReplaceAll(c.CommandPath(), " ", "_") + ".md"
}

// page is the reference of one command: what --help prints, and the way to
// the commands around it.
func page(t *testing.T, c *cobra.Command) string {
	t.Helper()
	var help, complaints bytes.Buffer
	args := append(strings.Fields(c.CommandPath())[1:], "--help")
	code := Run(t.Context(), System{Out: &help, Err: &complaints, Getenv: func(string) string { return "" }}, args)
	if code != 0 || complaints.Len() > 0 {
		t.Errorf("%s exits %d: %s", strings.Join(args, " "), code, complaints.String())
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n```\n%s```\n", c.CommandPath(), help.String())
	var near []string
	if c.HasParent() {
		near = append(near, fmt.Sprintf("[%s](%s)", c.Parent().CommandPath(), pageName(c.Parent())))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			near = append(near, fmt.Sprintf("[%s](%s)", sub.CommandPath(), pageName(sub)))
		}
	}
	if len(near) > 0 {
		fmt.Fprintf(&out, "\nSee %s.\n", strings.Join(near, ", "))
	}
	return out.String()
}

func writePages(t *testing.T, pages map[string]string) {
	t.Helper()
	for name := range readPages(t) {
		if err := os.Remove(filepath.Join(reference, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(reference, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(reference, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readPages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(reference, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	pages := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(name)] = string(text)
	}
	return pages
}
