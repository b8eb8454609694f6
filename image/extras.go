package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/hermesbox/hermesbox"
	"github.com/hermesbox/hermesbox/buildctx"
)

// ErrPackage means that a web UI package is no npm tarball of hermes-web-ui.
var ErrPackage = errors.New("unusable web UI package")

const (
	webUIName       = "hermes-web-ui"
	manifestPath    = extrasDir + "/manifest"
	webUIPath       = extrasDir + "/web-ui.tgz"
	maxPackageBytes = 512 << 20
)

var extrasTime = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// newExtra makes a file whose time follows from its content, as the tree's do:
// BuildKit decides by size and time what to send again.
func newExtra(path string, mode fs.FileMode, content []byte) extra {
	sum := sha256.Sum256(content)
	spread := binary.BigEndian.Uint64(sum[:8]) % uint64(8*365*24*time.Hour)
	return extra{path: path, mode: mode, modTime: extrasTime + int64(spread), content: content}
}

// makeExtras collects what is sent beside the source: the manifest, the
// recipe's own files and the web UI package, if one is given.
func makeExtras(tree *buildctx.Tree, webUIPackage string) ([]extra, error) {
	var manifest bytes.Buffer
	if err := tree.WriteManifest(&manifest); err != nil {
		return nil, fmt.Errorf("making manifest: %w", err)
	}
	extras := []extra{newExtra(manifestPath, 0o644, manifest.Bytes())}
	recipe, err := fs.Sub(hermesbox.Recipe, "recipe")
	if err != nil {
		return nil, fmt.Errorf("reading embedded recipe: %w", err)
	}
	err = fs.WalkDir(recipe, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(recipe, path)
		if err != nil {
			return err
		}
		extras = append(extras, newExtra(extrasDir+"/"+path, 0o755, content))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading embedded recipe: %w", err)
	}
	if webUIPackage != "" {
		content, err := readPackage(webUIPackage)
		if err != nil {
			return nil, err
		}
		extras = append(extras, newExtra(webUIPath, 0o644, content))
	}
	return extras, nil
}

// readPackage reads an npm tarball and makes sure that it is one of hermes-web-ui.
func readPackage(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPackage, err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxPackageBytes {
		return nil, fmt.Errorf("%w: %s is no file of at most %d MiB", ErrPackage, path, maxPackageBytes>>20)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPackage, err)
	}
	if err := checkPackage(content); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrPackage, path, err)
	}
	return content, nil
}

// checkPackage reads a whole npm tarball: a gzipped tar with package/package.json.
func checkPackage(content []byte) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("not a gzipped tar: %w", err)
	}
	var name string
	members := tar.NewReader(unzipped)
	for {
		header, err := members.Next()
		switch {
		case errors.Is(err, io.EOF) && name == "":
			return errors.New("it has no package/package.json, so it is no npm package")
		case errors.Is(err, io.EOF) && name != webUIName:
			return fmt.Errorf("it is the npm package %q, not %q", name, webUIName)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading tar: %w", err)
		case header.Name == "package/package.json":
			if name, err = packageName(members); err != nil {
				return err
			}
		}
	}
}

func packageName(r io.Reader) (string, error) {
	var manifest struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&manifest); err != nil {
		return "", fmt.Errorf("reading its package.json: %w", err)
	}
	if manifest.Name == "" {
		return "", errors.New("its package.json has no name")
	}
	return manifest.Name, nil
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
