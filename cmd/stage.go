package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/image"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/template"
)

// The stages of the pipeline, in their order.
const (
	stageContext  = "context"
	stageImage    = "image"
	stageTemplate = "template"
)

var stages = [...]string{stageContext, stageImage, stageTemplate}

// stage is one line of what up and plan print.
type stage struct {
	Stage  string `json:"stage"`
	Action string `json:"action"` // none, or what is done: read, build, push, register
	Reason string `json:"reason"` // why, or why not
	Result string `json:"result"` // digest, image or template id; empty where it is not known yet
}

// The actions of stages.
const (
	actionNone     = "none"
	actionRead     = "read"
	actionBuild    = "build"
	actionPush     = "push"
	actionRegister = "register"
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
	flags.StringVar(&o.until, "until", stageTemplate, "last `stage`: "+strings.Join(stages[:], ", "))
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
	local  bool // the local Cube
	image  image.Spec
	wanted template.Spec // its image is known last

	engine *image.Engine
	done   []stage
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
	if p.image, err = buildSpec(app, loaded.Config, opts.build); err != nil {
		return nil, err
	}
	if opts.reaches(stageTemplate) {
		err = p.wantTemplate()
	}
	return p, err
}

// wantTemplate checks what is asked of the last stage, which comes late.
func (p *pipeline) wantTemplate() (err error) {
	if p.wanted, err = p.opts.template.spec(p.loaded); err != nil {
		return err
	}
	p.wanted.Image = p.image.Tags[0]
	if err := p.wanted.Check(); err != nil {
		return cubeFailed(err)
	}
	if p.local, err = p.app.pickCube(p.loaded.Config.Cube); err != nil {
		return err
	}
	p.app.warnEgress(p.wanted, p.loaded.Config)
	return nil
}

// open reads the source and connects to the Engine where a stage needs it.
func (p *pipeline) open(ctx context.Context, args []string) error {
	if err := readSource(ctx, p.app, &p.image, args, p.loaded.Config, p.opts.build); err != nil {
		return err
	}
	p.record(stage{stageContext, actionRead, "it is read whole each time", p.image.Tree.Digest()})
	if !p.opts.reaches(stageImage) {
		return nil
	}
	var err error
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

// close gives up what open got.
func (p *pipeline) close() error {
	var errs []error
	if p.image.Tree != nil {
		errs = append(errs, p.image.Tree.Close())
	}
	if p.engine != nil {
		errs = append(errs, p.engine.Close())
	}
	return errors.Join(errs...)
}

// record keeps what a stage did, or would do.
func (p *pipeline) record(s stage) { p.done = append(p.done, s) }

// current looks for the image that is there already.
func (p *pipeline) current(ctx context.Context) (img image.Image, ok bool, reason string, err error) {
	for flag, given := range map[string]bool{"--no-cache": p.opts.build.noCache, "--pull": p.opts.build.pull} {
		if given {
			return image.Image{}, false, flag + " was given", nil
		}
	}
	return p.engine.Current(ctx, p.image)
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

// result is the last stage's.
func (p *pipeline) result() string { return p.done[len(p.done)-1].Result }

// nothing tells whether all that was looked at was as it should be.
func (p *pipeline) nothing() bool {
	for _, s := range p.done {
		if s.Action != actionNone && s.Action != actionRead {
			return false
		}
	}
	return true
}

// place is where Cube finds the Engine's images.
func (p *pipeline) place() template.Place {
	return placeOf(p.loaded.Config, p.local, p.engine.Host)
}

// unchanged is the reason for doing nothing about an image.
func unchanged(img image.Image) string {
	return fmt.Sprintf("%s has this context and this recipe", img.Name)
}
