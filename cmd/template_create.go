package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/template"
)

// templateCreateOptions are the flags of template create.
type templateCreateOptions struct {
	templateOptions
	image  string
	detach bool
}

func (o *templateCreateOptions) AddFlags(flags *pflag.FlagSet) {
	o.templateOptions.AddFlags(flags)
	flags.StringVar(&o.image, "image", "", "`image` to make it from (default: what build tagged as image.name)")
	flags.BoolVar(&o.detach, "detach", false, "return once the job is submitted")
}

func newTemplateCreate(app *app) *cobra.Command {
	var opts templateCreateOptions
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Register an image as a template, and wait until it is READY",
		Long: `Create has Cube make a template from an image and prints its id. A READY template of the
same image and with the same settings is used again; then nothing is made. A job for it
that was begun on this machine and still runs is not doubled: its template is waited for,
or, with --detach, its id is printed. A job that failed does not hinder the next try.`,
		Example: `  hermesbox template create --image registry.example.com/team/hermes-studio@sha256:…
  hermesbox template create --cube local --image "$(hermesbox build)" --allow-out-cidr 10.10.0.5/32`,
		Args: noStrayBool,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runTemplateCreate(cmd.Context(), app, app.out, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// runTemplateCreate checks all that can be checked before anybody is asked.
func runTemplateCreate(ctx context.Context, app *app, out io.Writer, opts templateCreateOptions) error {
	loaded, err := app.config(opts.overrides()...)
	if err != nil {
		return err
	}
	spec, err := opts.spec(loaded)
	if err != nil {
		return err
	}
	given := opts.flags.Changed("image")
	if spec.Image = opts.image; !given {
		spec.Image = loaded.Config.Image.Name
	}
	if err := spec.Check(); err != nil {
		return cubeFailed(err)
	}
	local, err := app.pickCube(loaded.Config.Cube)
	if err != nil {
		return err
	}
	app.warnEgress(spec, loaded.Config)
	if !given {
		spec.Image, err = builtImage(ctx, app, loaded.Config, local)
	} else {
		err = app.setImage(ctx, &spec, loaded.Config, local, opts.image)
	}
	if err != nil {
		return err
	}
	held, err := app.lockTemplate(ctx, loaded.Config, local)
	if err != nil {
		return err
	}
	done, err := app.register(ctx, loaded.Config.Cube, held, spec, registerOptions{local, opts.detach})
	if err := errors.Join(err, held.Close()); err != nil {
		return err
	}
	return printRegistered(app, out, done)
}

// builtImage is what build left under image.name, as Cube gets at it.
func builtImage(ctx context.Context, app *app, cfg config.Config, local bool) (_ string, err error) {
	engine, err := connect(ctx, app, cfg.Image.Builder)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	img, err := engine.Pushed(ctx, cfg.Image.Name)
	if err != nil {
		return "", err
	}
	return referTo(ctx, app, engine, img, cfg, local)
}

// warnEgress says what of the outbound policy is dangerous or cannot work.
func (a *app) warnEgress(spec template.Spec, cfg config.Config) {
	for _, f := range template.Lint(spec, cfg.Sandbox.ModelEndpoints) {
		if f.Severity != template.Note {
			a.warn("%s; %s", f.Detail, f.Remedy)
		}
	}
}

// lockTemplate makes this the only run on this machine that registers
// templates of the name with the cluster, so that two at once end with one.
func (a *app) lockTemplate(ctx context.Context, cfg config.Config, local bool) (*template.Held, error) {
	dir, err := a.locks(local)
	if err != nil {
		return nil, err
	}
	key := cfg.Template.Name + " local"
	if !local {
		key = cfg.Template.Name + " " + cfg.Cube.MasterAddr + " " + cfg.Cube.APIURL
	}
	return template.Lock(ctx, dir, key, func() { a.note("waiting for another run that registers %s", cfg.Template.Name) })
}

// registerOptions say where and how a template is registered.
type registerOptions struct {
	local  bool // with the local Cube
	detach bool
}

// register does the template stage under the lock.
func (a *app) register(ctx context.Context, cfg config.Cube, held *template.Held, spec template.Spec, opts registerOptions) (done template.Registered, err error) {
	link, err := a.openCube(ctx, cfg, opts.local, true)
	if err != nil {
		return done, err
	}
	defer link.Close()
	client := a.templateClient(link)
	client.Held = held
	done, err = client.Register(ctx, spec, opts.detach)
	if err != nil {
		if ctx.Err() != nil && done.Job != "" {
			a.note("the job goes on: %s template watch %s", a.again(), done.ID)
		}
		return done, cubeFailed(err)
	}
	if done.Job != "" {
		a.sayOutdated(ctx, client, spec.Name, done.ID)
	} else {
		a.note("template %s is READY with the same image and settings; nothing is made", done.ID)
	}
	return done, nil
}

// locks is the directory for lock files. Those of the local Cube go down with it.
func (a *app) locks(local bool) (string, error) {
	state, err := localcube.StateDir(a.getenv)
	if err != nil {
		return "", err
	}
	if local {
		return filepath.Join(state, localcube.LockDir), nil
	}
	return filepath.Join(filepath.Dir(state), localcube.LockDir), nil
}

// sayOutdated tells of sandboxes that a new template leaves behind. The
// template stands whether or not they can be counted.
func (a *app) sayOutdated(ctx context.Context, client *template.Client, name, id string) {
	users, err := client.Users(ctx, name, id)
	if err != nil {
		if a.verbose {
			a.note("sandboxes of the previous template were not counted: %v", err)
		}
		return
	}
	users = slices.DeleteFunc(users, func(s cube.Sandbox) bool { return throwaway(s.Metadata["hermesbox.name"]) })
	if len(users) == 0 {
		return
	}
	if len(users) == 1 {
		a.note("1 sandbox runs the previous one; to rebuild it:")
	} else {
		a.note("%d sandboxes run the previous one; to rebuild them:", len(users))
	}
	for _, s := range users {
		sandbox := s.Metadata["hermesbox.name"]
		if sandbox == "" {
			sandbox = s.ID
		}
		a.note("  %s sandbox rebuild %s", a.again(), printable(sandbox))
	}
}

// again begins a command line for the same cluster.
func (a *app) again() string {
	if a.cube == "" {
		return "hermesbox"
	}
	return "hermesbox --cube " + a.cube
}

func printRegistered(app *app, out io.Writer, done template.Registered) error {
	if app.output == "json" {
		return app.printJSON(done)
	}
	_, err := fmt.Fprintln(out, done.ID)
	return err
}

// noStrayBool refuses arguments, one of which may be a bool in a word of its
// own, as cubemastercli takes it.
func noStrayBool(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && (args[0] == "true" || args[0] == "false") {
		return usagef("unexpected word %q", args[0]).withHint("write --allow-internet-access=%s", args[0])
	}
	return noArgs(cmd, args)
}
