package image

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	bkclient "github.com/moby/buildkit/client"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth/authprovider"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/moby/buildkit/util/progress/progressui"
	"github.com/tonistiigi/fsutil"

	"github.com/hermesbox/hermesbox/buildctx"
)

// ErrBuild means that the builder ended with an error of its own.
var ErrBuild = errors.New("build failed")

// ErrName means that the builder refuses a name, or a link's target, that is not UTF-8.
var ErrName = errors.New("the builder takes only names in UTF-8")

// solve runs one build and returns what the exporter says of the image it made.
func (b *Builder) solve(ctx context.Context, bk *bkclient.Client, spec Spec, sent *sentFS, labels map[string]string) (map[string]string, error) {
	attachables, err := b.attachables(spec)
	if err != nil {
		return nil, errors.Join(err, bk.Close())
	}
	opt := bkclient.SolveOpt{
		Frontend:       "dockerfile.v0",
		FrontendAttrs:  b.frontendAttrs(spec, labels),
		LocalMounts:    map[string]fsutil.FS{"context": sent, "dockerfile": dockerfileFS(spec.Dockerfile.Content)},
		LocalFilterOpt: sendWhole,
		SharedKey:      sharedKey(spec.Tree.Root()),
		Session:        attachables,
		Exports:        []bkclient.ExportEntry{b.export(spec)},
	}
	res, err := b.run(ctx, bk, opt)
	if sentErr := sent.Err(); sentErr != nil {
		return nil, sentErr
	}
	if err != nil && b.Engine.bare {
		err = explainPush(err)
	}
	if err != nil {
		return nil, explainNames(err, spec.Tree)
	}
	return res.ExporterResponse, nil
}

// export is what becomes of the image. An Engine's is named afterwards: an
// interrupt may come too late to stop the exporter.
func (b *Builder) export(spec Spec) bkclient.ExportEntry {
	if b.Engine.bare {
		return bkclient.ExportEntry{Type: bkclient.ExporterImage, Attrs: map[string]string{"name": strings.Join(spec.Tags, ","), "push": "true"}}
	}
	return bkclient.ExportEntry{Type: "moby"}
}

// explainNames names the entry that the builder's wire format refused: today's
// Engines take only names in UTF-8, and say no more than that one was not.
func explainNames(err error, tree *buildctx.Tree) error {
	if !strings.Contains(err.Error(), "invalid UTF-8") {
		return err
	}
	for entry := range tree.Entries() {
		if !utf8.ValidString(entry.Path) || !utf8.ValidString(entry.Linkname) {
			return fmt.Errorf("%w: %q: %w", ErrName, entry.Path, err)
		}
	}
	return err
}

// exportedID is what the Engine calls the image: with the containerd store the
// manifest's digest, without it the configuration's, which 20.10 gives under
// the other key.
func exportedID(response map[string]string) (string, error) {
	for _, key := range []string{"containerimage.digest", "containerimage.config.digest"} {
		if id := response[key]; id != "" {
			return id, nil
		}
	}
	return "", fmt.Errorf("%w: the builder named no image", ErrBuild)
}

// sendWhole takes away the builder's filters for the context: hermesbox has
// filtered already, and a filter that differs between walk and open would send
// a file as an empty one. Only the frontend's request for the ignore file
// itself, which Engine 20.10 makes besides, stays small.
func sendWhole(name string, opt *fsutil.FilterOpt) error {
	if name != "context" {
		return nil
	}
	onlyIgnore := slices.Equal(opt.FollowPaths, []string{ignoreFile}) || slices.Equal(opt.IncludePatterns, []string{ignoreFile})
	opt.IncludePatterns, opt.ExcludePatterns, opt.FollowPaths = nil, nil, nil
	if onlyIgnore {
		opt.IncludePatterns = []string{ignoreFile}
	}
	return nil
}

const ignoreFile = ".dockerignore"

func (b *Builder) attachables(spec Spec) ([]session.Attachable, error) {
	secrets := map[string][]byte{}
	for _, secret := range spec.Secrets {
		secrets[secret.ID] = secret.Value
	}
	if spec.CABundle != "" {
		bundle, err := readCABundle(spec.CABundle)
		if err != nil {
			return nil, err
		}
		secrets[bundle.ID] = bundle.Value
	}
	return []session.Attachable{b.Engine.credentials(), secretsprovider.FromMap(secrets)}, nil
}

// credentials give a builder those of the Docker configuration for the registries it asks.
func (e *Engine) credentials() session.Attachable {
	return authprovider.NewDockerAuthProvider(authprovider.DockerAuthProviderConfig{
		AuthConfigProvider: authprovider.LoadAuthConfig(e.Config),
	})
}

// outcome is how a solve ended.
type outcome struct {
	res *bkclient.SolveResponse
	err error
}

// run solves and shows the progress. Where ctx ends first, the builder gets a
// moment to stop by itself; then the connection is cut, which stops it too.
func (b *Builder) run(ctx context.Context, bk *bkclient.Client, opt bkclient.SolveOpt) (*bkclient.SolveResponse, error) {
	display, err := progressui.NewDisplay(b.Progress, progressui.DisplayMode(b.Mode))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: progress %q: %w", ErrSpec, b.Mode, err), bk.Close())
	}
	status, masked := make(chan *bkclient.SolveStatus), make(chan *bkclient.SolveStatus)
	go newMasker(b.Secrets).follow(status, masked) // ends with status, which the solve closes
	shown := make(chan struct{})
	done := make(chan outcome, 1)
	go func() {
		defer close(shown)
		_, _ = display.UpdateFrom(context.WithoutCancel(ctx), masked) // its error repeats the solve's
	}()
	go func() {
		res, err := bk.Solve(ctx, nil, opt, status)
		done <- outcome{res, err}
	}()
	return wait(ctx, bk, done, shown)
}
