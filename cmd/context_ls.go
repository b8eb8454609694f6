package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/buildctx"
)

func newContextLs(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls [SOURCE|-]",
		Short: "List what would be sent to the builder",
		Long: `Ls lists every entry of the clean context: kind (f, d or l), mode, size and path,
and the target of a link. A path that no terminal should see raw is quoted.`,
		Example: "  hermesbox context ls ~/src/hermes-agent\n  tar -cf - . | hermesbox context ls -",
		Args:    maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runContextLs(cmd.Context(), app, app.out, args)
		},
	}
}

func runContextLs(ctx context.Context, app *app, out io.Writer, args []string) (err error) {
	loaded, err := app.config()
	if err != nil {
		return err
	}
	tree, err := app.loadTree(ctx, source(args, loaded.Config), loaded.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	app.warnOf(tree.Receipt())
	if app.output == "json" {
		return writeListing(out, tree)
	}
	w := bufio.NewWriter(out)
	for e := range tree.Entries() {
		_, _ = fmt.Fprintln(w, lineOf(e)) // Flush repeats the error
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}

func lineOf(e buildctx.Entry) string {
	line := fmt.Sprintf("%c %04o %10d %s", e.Kind, e.Mode.Perm(), e.Size, printable(e.Path))
	if e.Kind == buildctx.Link {
		line += " -> " + printable(e.Linkname)
	}
	return line
}

// printable quotes a name that would disturb a terminal or a reader of lines.
func printable(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// listed is one entry in JSON.
type listed struct {
	Path      string `json:"path"`
	PathB64   string `json:"path_b64,omitempty"`
	Kind      string `json:"kind"`
	Mode      string `json:"mode"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256,omitempty"`
	Target    string `json:"target,omitempty"`
	TargetB64 string `json:"target_b64,omitempty"`
}

func newListed(e buildctx.Entry) listed {
	l := listed{
		Path: e.Path, PathB64: rawBytes(e.Path), Kind: e.Kind.String(), Mode: fmt.Sprintf("%04o", e.Mode.Perm()), Size: e.Size,
		Target: e.Linkname, TargetB64: rawBytes(e.Linkname),
	}
	if e.Kind == buildctx.File {
		l.SHA256 = hex.EncodeToString(e.SHA256[:])
	}
	return l
}

// rawBytes is the base64 of what JSON could not carry, else empty.
func rawBytes(s string) string {
	if utf8.ValidString(s) {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(s))
}

// writeListing writes the entries as one JSON array, entry by entry: all at once would take a kilobyte of memory for each.
func writeListing(out io.Writer, tree *buildctx.Tree) error {
	w := bufio.NewWriterSize(out, 64<<10)
	var one bytes.Buffer
	enc := json.NewEncoder(&one)
	enc.SetIndent("  ", "  ")
	enc.SetEscapeHTML(false)
	before := "[\n  "
	for e := range tree.Entries() {
		one.Reset()
		if err := enc.Encode(newListed(e)); err != nil {
			return fmt.Errorf("writing the list: %w", err)
		}
		_, _ = w.WriteString(before) // Flush repeats the error
		_, _ = w.Write(bytes.TrimSuffix(one.Bytes(), []byte("\n")))
		before = ",\n  "
	}
	_, _ = w.WriteString("\n]\n")
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}
