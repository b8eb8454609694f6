package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/template"
)

// templateDeleteOptions are the flags of template delete.
type templateDeleteOptions struct {
	keep   int
	failed bool
	name   string
}

func (o *templateDeleteOptions) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.keep, "keep", -1, "delete the READY templates of the name but the newest `N`")
	flags.BoolVar(&o.failed, "failed", false, "delete the templates whose job failed")
	flags.StringVar(&o.name, "name", "", "`name` that --keep is about (default template.name)")
}

func newTemplateDelete(app *app) *cobra.Command {
	var opts templateDeleteOptions
	cmd := &cobra.Command{
		Use:   "delete [TEMPLATE...]",
		Short: "Delete templates",
		Long: `Delete deletes the templates named, or old ones with --keep, or failed ones with
--failed. It asks first on a terminal, and needs --yes elsewhere. A template that
sandboxes still need is kept, and said so.`,
		Example: "  hermesbox template delete tpl-0123456789abcdef01234567\n  hermesbox template delete --keep 2 --failed --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd.Flags(), "name"); err != nil {
				return err
			}
			return runTemplateDelete(cmd.Context(), app, app.out, args, opts, cmd.Flags().Changed("keep"))
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runTemplateDelete(ctx context.Context, app *app, out io.Writer, ids []string, opts templateDeleteOptions, keep bool) error {
	switch {
	case len(ids) == 0 && !keep && !opts.failed:
		return usagef("nothing to delete is named").withHint("name template ids, or use --keep N or --failed")
	case len(ids) > 0 && (keep || opts.failed):
		return usagef("template ids go without --keep and --failed, got %q", ids).withHint("use either")
	case slices.ContainsFunc(ids, func(id string) bool { return strings.TrimSpace(id) == "" }):
		return usagef("a template id is empty in %q", ids).withHint("hermesbox template ls lists what there is")
	case keep && opts.keep < 0:
		return usagef("--keep %d is less than nothing", opts.keep).withHint("name the number of templates to keep, such as --keep 2")
	}
	client, link, err := app.templates(ctx)
	if err != nil {
		return err
	}
	defer link.Close()
	if len(ids) == 0 {
		if ids, err = chooseTemplates(ctx, app, client, opts, keep); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		app.note("nothing to delete")
		return printDeleted(app, out, []string{})
	}
	if err := app.confirm(ctx, fmt.Sprintf("deleting %d template(s), %s", len(ids), joined(ids))); err != nil {
		return err
	}
	return deleteTemplates(ctx, app, out, client, ids)
}

// chooseTemplates are those that --keep and --failed mean.
func chooseTemplates(ctx context.Context, app *app, client *template.Client, opts templateDeleteOptions, keep bool) ([]string, error) {
	all, err := client.List(ctx)
	if err != nil {
		return nil, cubeFailed(err)
	}
	var chosen []template.Summary
	if opts.failed {
		chosen = template.Failed(all)
	}
	if keep {
		name := opts.name
		if name == "" {
			loaded, err := app.config()
			if err != nil {
				return nil, err
			}
			name = loaded.Config.Template.Name
		}
		chosen = append(chosen, template.Old(all, name, opts.keep)...)
	}
	ids := make([]string, 0, len(chosen))
	for _, t := range chosen {
		ids = append(ids, t.ID)
	}
	return ids, nil
}

// deleteTemplates goes on after one that cannot be deleted: exit 5 where others were.
func deleteTemplates(ctx context.Context, app *app, out io.Writer, client *template.Client, ids []string) error {
	var errs []error
	deleted := []string{}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue // named twice
		}
		switch err := client.Delete(ctx, id); {
		case err == nil:
			deleted = append(deleted, id)
		case errors.Is(err, cube.ErrUnreachable), errors.Is(err, cube.ErrUnauthorized), ctx.Err() != nil:
			return errors.Join(printDeleted(app, out, deleted), cubeFailed(err))
		default:
			errs = append(errs, err)
		}
	}
	if err := printDeleted(app, out, deleted); err != nil || len(errs) == 0 {
		return err
	}
	first := failed(cubeFailed(errs[0]))
	code := first.code
	if len(deleted) > 0 {
		code = exitPartly
	}
	return &failure{err: errors.Join(errs...), code: code, hint: first.hint}
}

func printDeleted(app *app, out io.Writer, ids []string) error {
	if app.output == "json" {
		return app.printJSON(ids)
	}
	for _, id := range ids {
		if _, err := fmt.Fprintln(out, id); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}
