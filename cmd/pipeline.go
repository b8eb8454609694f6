package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/template"
)

// upOptions are the flags of up and plan: those of build and of template create.
type upOptions struct {
	build    buildOptions
	template templateOptions
	until    string
}

func (o *upOptions) AddFlags(flags *pflag.FlagSet) {
	o.build.AddFlags(flags)
	o.template.AddFlags(flags)
	flags.StringVar(&o.until, "until", stages[len(stages)-1], "last `stage`: "+strings.Join(stages[:], ", "))
}

// reaches tells whether a stage is to be done.
func (o *upOptions) reaches(name string) bool {
	return slices.Index(stages[:], name) <= slices.Index(stages[:], o.until)
}

// pipeline is what up and plan work on. Everything in it was checked before
// anything was read or anybody asked.
type pipeline struct {
	app    *app
	opts   upOptions
	loaded *config.Loaded
	local  bool     // the local Cube
	source []string // the argument, if one was given
	image  image.Spec
	wanted template.Spec // its image is known last

	engine *image.Engine
	boxes  *sandboxes     // nil before homes and sandboxes are worked on
	held   *template.Held // nil while templates are not registered

	built    image.Image   // what is there or was made
	template string        // its id, likewise
	looked   []stage       // what is to be done
	blind    error         // why it was not seen what the nodes need; nil where it was
	done     []stage       // what was done
	checks   []check.Check // for the report
	bad      []check.Check // that failed
	tried    tried         // the smoke sandbox, until it is removed
}

// onPipeline makes a command of what is done with a pipeline.
func onPipeline(app *app, cmd *cobra.Command, run func(context.Context, *pipeline) error) *cobra.Command {
	var opts upOptions
	cmd.Args = maxArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		app.tellCI()
		p, err := newPipeline(app, opts)
		if err != nil {
			return err
		}
		p.source = args
		defer func() { err = errors.Join(err, p.close()) }()
		return run(cmd.Context(), p)
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// newPipeline checks flags and configuration.
func newPipeline(app *app, opts upOptions) (*pipeline, error) {
	if !slices.Contains(stages[:], opts.until) {
		return nil, usagef("--until %q is no stage", opts.until).withHint("use %s", strings.Join(stages[:], ", "))
	}
	set, err := opts.build.overrides(app.getenv)
	if err != nil {
		return nil, err
	}
	loaded, err := app.config(append(set, opts.template.overrides()...)...)
	if err != nil {
		return nil, err
	}
	p := &pipeline{app: app, opts: opts, loaded: loaded}
	if opts.reaches(stageTemplate) { // first of all: it says so where the local Cube is taken unasked
		if p.local, err = app.pickCube(loaded.Config.Cube); err != nil {
			return nil, err
		}
	}
	if p.image, err = buildSpec(app, loaded.Config, opts.build); err != nil {
		return nil, err
	}
	if opts.reaches(stageTemplate) {
		err = p.wantTemplate()
	}
	if err == nil && opts.reaches(stageHome) {
		err = checkShared(loaded.Config.SharedRoot, p.local)
	}
	return p, err
}

// wantTemplate checks what is asked of a stage that comes late.
func (p *pipeline) wantTemplate() (err error) {
	if p.wanted, err = p.opts.template.spec(p.loaded); err != nil {
		return err
	}
	p.wanted.Image = p.image.Tags[0]
	if err := p.wanted.Check(); err != nil {
		return cubeFailed(err)
	}
	p.app.warnEgress(p.wanted, p.loaded.Config)
	return nil
}

// openEngine connects to who builds.
func (p *pipeline) openEngine(ctx context.Context) (err error) {
	if p.engine, err = connect(ctx, p.app, p.loaded.Config.Image.Builder); err != nil {
		return err
	}
	return p.checkWay()
}

// checkWay refuses to build what Cube then cannot have.
func (p *pipeline) checkWay() error {
	if !p.opts.reaches(stageTemplate) || p.loaded.Config.Image.Push || p.place() != template.Elsewhere {
		return nil
	}
	return cubeFailed(fmt.Errorf("%w: it is in no registry, and the Engine at %s is not CubeMaster's", template.ErrUnreachableImage, p.engine.Host))
}

// close gives up what was opened.
func (p *pipeline) close() error {
	errs := []error{p.unlock()}
	if p.tried.note != nil {
		errs = append(errs, p.tried.note.Close())
	}
	if p.boxes != nil {
		p.boxes.close()
	}
	if p.image.Tree != nil {
		errs = append(errs, p.image.Tree.Close())
	}
	if p.engine != nil {
		errs = append(errs, p.engine.Close())
	}
	return errors.Join(errs...)
}

// unlock lets other runs register templates.
func (p *pipeline) unlock() error {
	if p.held == nil {
		return nil
	}
	held := p.held
	p.held = nil
	return held.Close()
}

// place is where Cube finds the Engine's images.
func (p *pipeline) place() template.Place {
	return placeOf(p.loaded.Config, p.local, p.engine.Host)
}

// peekBase resolves the base without moving the lock.
func (p *pipeline) peekBase(ctx context.Context) error {
	if !p.image.Dockerfile.HasBase {
		return nil
	}
	lock, err := image.ReadLock(filepath.Join(projectDir(p.loaded), image.LockName))
	if err != nil {
		return err
	}
	p.image.Base, err = p.engine.PeekBase(ctx, p.loaded.Config.Image.Base, p.image.Platform, lock, p.opts.build.updateBase)
	return err
}
