package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/internal/inside"
)

// contents is what an image holds in the places that hermesbox fills, read
// through the Engine: nothing in the image takes part, so it cannot vouch for
// itself.
type contents struct {
	sums     map[string]string // regular files below agentDir, by path below it → hex sha256
	manifest []byte            // nil where the image has none
	project  []byte            // agentDir/pyproject.toml
	litter   []string          // absolute paths, by name
	alike    map[string]bool   // those of litter that are look-alikes: no AppleDouble file behind the name
	home     []string          // absolute paths below homeDir
	outside  []string          // links below agentDir that lead out of it
}

// readContents reads the agent, the default home, the skills and the manifest.
func (c *testContainer) readContents(ctx context.Context) (*contents, error) {
	found := &contents{sums: map[string]string{}, alike: map[string]bool{}}
	for _, root := range []string{agentDir, homeDir, skillsDir, manifestInImage} {
		if err := c.readTree(ctx, root, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readTree streams one place out of the container; one that is missing is empty.
func (c *testContainer) readTree(ctx context.Context, root string, found *contents) error {
	stream, _, err := c.engine.API.CopyFromContainer(ctx, c.id, root)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s of the image: %w", root, err)
	}
	members := tar.NewReader(stream)
	for {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return stream.Close()
		}
		if err == nil {
			err = found.add(path.Join(path.Dir(root), header.Name), header, members)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("reading %s of the image: %w", root, err), stream.Close())
		}
	}
}

// add takes in one entry by its absolute path.
func (f *contents) add(name string, header *tar.Header, body io.Reader) error {
	content := bufio.NewReader(body)
	if buildctx.IsLitter(path.Base(name), path.Dir(name) == agentDir || path.Dir(name) == homeDir) {
		f.litter = append(f.litter, name)
		head, _ := content.Peek(len(appleDoubleMagic)) // a short file is none
		f.alike[name] = strings.HasPrefix(path.Base(name), "._") && string(head) != appleDoubleMagic
	}
	if strings.HasPrefix(name, homeDir+"/") {
		f.home = append(f.home, name)
	}
	if header.Typeflag != tar.TypeReg {
		return f.addOther(name, header)
	}
	below, inAgent := strings.CutPrefix(name, agentDir+"/")
	switch {
	case name == manifestInImage:
		return readInto(&f.manifest, content)
	case inAgent && below == "pyproject.toml":
		if err := readInto(&f.project, content); err != nil {
			return err
		}
		f.sums[below] = hexSum(f.project)
	case inAgent && !inside.Made(below):
		sum := sha256.New()
		if _, err := io.Copy(sum, content); err != nil {
			return err
		}
		f.sums[below] = hex.EncodeToString(sum.Sum(nil))
	}
	return nil
}

// addOther takes in what is no regular file. A hard link, as the Engine's tar
// has for a second name, shares the content of the first.
func (f *contents) addOther(name string, header *tar.Header) error {
	below, inAgent := strings.CutPrefix(name, agentDir+"/")
	if !inAgent || inside.Made(below) {
		return nil
	}
	switch header.Typeflag {
	case tar.TypeLink:
		f.sums[below] = f.sums[strings.TrimPrefix(header.Linkname, path.Base(agentDir)+"/")]
	case tar.TypeSymlink:
		if target := path.Join(path.Dir(name), header.Linkname); path.IsAbs(header.Linkname) || !strings.HasPrefix(target, agentDir+"/") {
			f.outside = append(f.outside, below+" → "+header.Linkname)
		}
	}
	return nil
}

func readInto(dst *[]byte, r io.Reader) error {
	var buf bytes.Buffer
	_, err := buf.ReadFrom(r)
	*dst = buf.Bytes()
	return err
}

// appleDoubleMagic begins every AppleDouble file.
const appleDoubleMagic = "\x00\x05\x16\x07"
