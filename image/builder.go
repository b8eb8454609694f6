package image

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/versions"
	bkclient "github.com/moby/buildkit/client"
	_ "github.com/moby/buildkit/util/grpcutil/encoding/proto" // names that are not UTF-8 pass only through this codec

	"github.com/hermesbox/hermesbox/buildctx"
	"github.com/hermesbox/hermesbox/internal/redact"
)

// ErrSpec means that a value of a Spec cannot be used; the text names it.
var ErrSpec = errors.New("cannot be used")

// ErrTooNew means that a recipe needs a newer builder.
var ErrTooNew = errors.New("a newer builder is needed")

// Spec is the image that is wanted.
type Spec struct {
	Tree         *buildctx.Tree
	Dockerfile   *Dockerfile
	Base         Base     // zero where the Dockerfile takes none
	Tags         []string // at least one
	Platform     string   // as ParsePlatform gives it
	Target       string   // stage; empty for the last
	BuildArgs    map[string]string
	Secrets      []Secret
	CABundle     string // PEM file, passed as a secret; empty for none
	WebUIPackage string // npm tarball; empty for the npm registry
	Origin       Origin
	Epoch        string // SOURCE_DATE_EPOCH as given; empty for none
	NoCache      bool
	Pull         bool
}

// Secret is a value for the build that no layer keeps.
type Secret struct {
	ID    string
	Value []byte
}

// Builder builds images in an Engine.
type Builder struct {
	Engine   *Engine
	Progress io.Writer // for the builder's progress
	Mode     string    // auto, tty, plain, quiet or rawjson
	Note     func(format string, args ...any)
	Secrets  *redact.Redactor // masks the progress
}

// Build makes the image and tags it. An interrupted build tags nothing and
// returns within two seconds. What was sent is what the tree's digest names,
// or the error says which file is not (a *buildctx.ChangedError, where it changed).
func (b *Builder) Build(ctx context.Context, spec Spec) (Image, error) {
	if err := spec.Check(); err != nil {
		return Image{}, err
	}
	extras, err := makeExtras(spec.Tree, spec.WebUIPackage)
	if err != nil {
		return Image{}, err
	}
	recipeDigest, err := recipeOf(spec, extras).digest()
	if err != nil {
		return Image{}, err
	}
	bk, err := b.Engine.buildkit(ctx)
	if err != nil {
		return Image{}, err
	}
	if err := errors.Join(b.Engine.checkSyntax(spec.Dockerfile), b.checkPlatform(ctx, bk, spec)); err != nil {
		return Image{}, errors.Join(err, bk.Close())
	}
	labels := spec.Origin.labels(spec.Tree.Digest(), recipeDigest, spec.Base)
	solving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	id, err := b.solve(solving, bk, spec, newSentFS(spec.Tree, extras, cancel), labels)
	if err != nil {
		return Image{}, err
	}
	return b.tag(ctx, id, spec.Tags)
}

// tag names the image, all tags or, where ctx has ended before, none.
func (b *Builder) tag(ctx context.Context, id string, tags []string) (Image, error) {
	if ctx.Err() != nil {
		return Image{}, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	for _, tag := range tags {
		if err := b.Engine.API.ImageTag(ctx, id, tag); err != nil {
			return Image{}, fmt.Errorf("tagging %s: %w", tag, err)
		}
	}
	img, err := b.Engine.Inspect(ctx, id)
	img.Name = tags[0]
	return img, err
}

func (b *Builder) checkPlatform(ctx context.Context, bk *bkclient.Client, spec Spec) error {
	if b.Engine.Info.native(spec.Platform) {
		return nil
	}
	if err := checkPlatform(ctx, bk, spec.Platform); err != nil {
		return err
	}
	b.Note("the Engine runs %s/%s; building for %s by emulation, which is slow", b.Engine.Info.OS, b.Engine.Info.Arch, spec.Platform)
	return nil
}

// Check refuses tags that no Engine takes, and a CA bundle or web UI package
// that cannot be used, before anything is read or sent. The error wraps ErrSpec or ErrPackage.
func (s Spec) Check() error {
	if err := checkTags(s.Tags); err != nil {
		return err
	}
	if s.CABundle != "" {
		if _, err := readCABundle(s.CABundle); err != nil {
			return err
		}
	}
	if s.WebUIPackage != "" {
		if _, err := readPackage(s.WebUIPackage); err != nil {
			return err
		}
	}
	return nil
}

// readCABundle reads a PEM file with at least one certificate.
func readCABundle(path string) (Secret, error) {
	bundle, err := ReadSecret(CABundleSecret, path)
	if err != nil {
		return Secret{}, err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(bundle.Value) {
		return Secret{}, fmt.Errorf("%w: CA bundle %s holds no PEM certificate", ErrSpec, path)
	}
	return bundle, nil
}

func checkTags(tags []string) error {
	if len(tags) == 0 {
		return fmt.Errorf("%w: no image name to tag", ErrSpec)
	}
	for _, tag := range tags {
		named, err := reference.ParseNormalizedNamed(tag)
		if err != nil {
			return fmt.Errorf("%w: tag %q: %w", ErrSpec, tag, err)
		}
		if _, ok := named.(reference.Digested); ok {
			return fmt.Errorf("%w: tag %q has a digest", ErrSpec, tag)
		}
	}
	return nil
}

// buildkit opens the BuildKit inside the Engine.
func (e *Engine) buildkit(ctx context.Context) (*bkclient.Client, error) {
	hijack := func(path string) func(context.Context, string, map[string][]string) (net.Conn, error) {
		return func(ctx context.Context, proto string, meta map[string][]string) (net.Conn, error) {
			return e.API.DialHijack(ctx, path, proto, meta)
		}
	}
	bk, err := bkclient.New(ctx, "",
		bkclient.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return hijack("/grpc")(ctx, "h2c", nil) }),
		bkclient.WithSessionDialer(hijack("/session")),
	)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Engine's BuildKit: %w", err)
	}
	return bk, nil
}

// supportsEpoch tells whether the Engine's BuildKit knows SOURCE_DATE_EPOCH: 0.11, which came with Engine 23 and API 1.42.
func (i EngineInfo) supportsEpoch() bool {
	return versions.GreaterThanOrEqualTo(i.APIVersion, "1.42")
}

// checkSyntax refuses what the Engine's frontend cannot read: Engine 20.10 knows
// no heredocs and few flags.
func (e *Engine) checkSyntax(d *Dockerfile) error {
	if d.Newer == "" || versions.GreaterThanOrEqualTo(e.Info.APIVersion, "1.42") {
		return nil
	}
	return fmt.Errorf("%w: %s has %s, which Docker Engine %s cannot read", ErrTooNew, d.Path, d.Newer, e.Info.Version)
}

// frontendAttrs are the options of the Dockerfile frontend.
func (b *Builder) frontendAttrs(spec Spec, labels map[string]string) map[string]string {
	attrs := map[string]string{"filename": dockerfileName, "platform": spec.Platform, "target": spec.Target}
	for name, value := range labels {
		attrs["label:"+name] = value
	}
	for name, value := range b.Engine.Config.ParseProxyConfig(b.Engine.Host, nil) {
		if value != nil {
			attrs["build-arg:"+name] = *value
		}
	}
	for name, value := range spec.BuildArgs {
		attrs["build-arg:"+name] = value
	}
	if spec.Dockerfile.HasBase {
		attrs["build-arg:BASE"] = spec.Base.Ref
	}
	if spec.NoCache {
		attrs["no-cache"] = ""
	}
	if spec.Pull && !spec.Base.Local {
		attrs["image-resolve-mode"] = "pull"
	}
	maps.Copy(attrs, b.epochAttrs(spec))
	maps.DeleteFunc(attrs, func(name, value string) bool { return name == "target" && value == "" })
	return attrs
}

func (b *Builder) epochAttrs(spec Spec) map[string]string {
	switch {
	case spec.Epoch == "":
		return nil
	case b.Engine.Info.supportsEpoch():
		return map[string]string{"build-arg:SOURCE_DATE_EPOCH": spec.Epoch}
	case spec.Dockerfile.Declares("SOURCE_DATE_EPOCH"):
		b.Note("Engine %s knows no SOURCE_DATE_EPOCH: it sets the label and the recipe's argument, not the layers' times", b.Engine.Info.Version)
		return map[string]string{"build-arg:SOURCE_DATE_EPOCH": spec.Epoch}
	}
	b.Note("Engine %s knows no SOURCE_DATE_EPOCH: it sets only the label", b.Engine.Info.Version)
	return nil
}

// ReadSecret reads a secret from a file. The error wraps ErrSpec.
func ReadSecret(id, path string) (Secret, error) {
	value, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, fmt.Errorf("%w: secret %q: %w", ErrSpec, id, err)
	}
	if len(value) > maxSecretBytes {
		return Secret{}, fmt.Errorf("%w: secret %q: %s has more than %d bytes", ErrSpec, id, path, maxSecretBytes)
	}
	return Secret{ID: id, Value: value}, nil
}

const (
	maxSecretBytes = 500 << 10 // BuildKit's own limit
	dockerfileName = "Dockerfile"
	cancelGrace    = 1500 * time.Millisecond
)

// sharedKey names one source directory to the builder, on this machine.
func sharedKey(root string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if root == "" {
		root = "stdin"
	}
	return "hermesbox:" + hexSum([]byte(host+"\x00"+filepath.Clean(root)))
}
