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
	DefaultBase string // the default of ARG BASE, if any
	HasManifest bool   // names .hermesbox, so that the manifest can reach the image
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
		d.HasManifest = d.HasManifest || strings.Contains(child.Original, extrasDir) && !strings.HasPrefix(child.Original, "#")
		if !strings.EqualFold(child.Value, "arg") {
			continue
		}
		for arg := child.Next; arg != nil; arg = arg.Next {
			name, _, _ := strings.Cut(arg.Value, "=")
			d.declared = append(d.declared, name)
		}
	}
	return d, nil
}

// readArgs looks at the arguments before the first stage.
func (d *Dockerfile) readArgs(args []instructions.ArgCommand) {
	for _, command := range args {
		for _, arg := range command.Args {
			if arg.Key != "BASE" {
				continue
			}
			d.HasBase = true
			if arg.Value != nil {
				d.DefaultBase = *arg.Value
			}
		}
	}
}

// Declares tells whether an ARG of this name stands anywhere in the recipe.
func (d *Dockerfile) Declares(arg string) bool { return slices.Contains(d.declared, arg) }
