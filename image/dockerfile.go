package image

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/hermesbox/hermesbox"
)

// ErrDockerfile means that the Dockerfile cannot be used.
var ErrDockerfile = errors.New("unusable Dockerfile")

// Dockerfile is a parsed recipe.
type Dockerfile struct {
	Path        string // on disk; empty for the embedded recipe
	Content     []byte
	HasBase     bool   // declares ARG BASE before the first stage
	HasManifest bool   // copies .hermesbox or its manifest
	Newer       string // what Docker Engine 20.10's frontend cannot read, if anything; empty where the file names a frontend of its own
	declared    []string
}

// LoadDockerfile reads and parses the recipe at path, or the embedded one
// where path is empty. The error wraps ErrDockerfile and names the path.
func LoadDockerfile(path string) (*Dockerfile, error) {
	if path == "" {
		return parseDockerfile("", hermesbox.Dockerfile)
	}
	content, err := readDockerfile(path)
	if err != nil {
		return nil, err
	}
	return parseDockerfile(path, content)
}

func readDockerfile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s does not exist", ErrDockerfile, path)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDockerfile, err)
	case info.IsDir():
		return nil, fmt.Errorf("%w: %s is a directory", ErrDockerfile, path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is no regular file", ErrDockerfile, path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDockerfile, err)
	}
	return content, nil
}

func parseDockerfile(path string, content []byte) (*Dockerfile, error) {
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, fmt.Errorf("%w: %s is empty", ErrDockerfile, path)
	}
	parsed, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDockerfile, path, err)
	}
	stages, args, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDockerfile, path, err)
	}
	if len(stages) == 0 {
		return nil, fmt.Errorf("%w: %s has no FROM", ErrDockerfile, path)
	}
	d := &Dockerfile{Path: path, Content: content}
	d.readArgs(args)
	for _, child := range parsed.AST.Children {
		d.readInstruction(child)
	}
	if syntax, _, _, ok := parser.DetectSyntax(content); ok && syntax != "" {
		d.Newer = ""
	}
	return d, nil
}

// readInstruction notes what an instruction declares, copies and needs.
func (d *Dockerfile) readInstruction(node *parser.Node) {
	switch strings.ToLower(node.Value) {
	case "arg":
		for arg := node.Next; arg != nil; arg = arg.Next {
			name, _, _ := strings.Cut(arg.Value, "=")
			d.declared = append(d.declared, name)
		}
	case "copy", "add":
		d.readCopy(node)
	}
	if len(node.Heredocs) > 0 && d.Newer == "" {
		d.Newer = fmt.Sprintf("a heredoc in line %d", node.StartLine)
	}
}

// readCopy looks at the sources and flags of a COPY or ADD.
func (d *Dockerfile) readCopy(node *parser.Node) {
	fromStage := false
	for _, flag := range node.Flags {
		name, _, _ := strings.Cut(flag, "=")
		fromStage = fromStage || name == "--from"
		if slices.Contains([]string{"--link", "--exclude", "--parents", "--checksum", "--keep-git-dir"}, name) && d.Newer == "" {
			d.Newer = fmt.Sprintf("%s in line %d", name, node.StartLine)
		}
	}
	for source := node.Next; source != nil && source.Next != nil && !fromStage; source = source.Next {
		path := strings.TrimPrefix(strings.Trim(source.Value, "./"), "/")
		d.HasManifest = d.HasManifest || path == "" || path == strings.Trim(extrasDir, "./") || strings.HasPrefix(source.Value, extrasDir+"/")
	}
}

// readArgs looks at the arguments before the first stage.
func (d *Dockerfile) readArgs(args []instructions.ArgCommand) {
	for _, command := range args {
		for _, arg := range command.Args {
			d.HasBase = d.HasBase || arg.Key == "BASE"
		}
	}
}

// Declares tells whether an ARG of this name stands anywhere in the recipe.
func (d *Dockerfile) Declares(arg string) bool { return slices.Contains(d.declared, arg) }
