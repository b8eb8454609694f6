package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/localcube"
	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// localFaultOptions are the flags of local fault.
type localFaultOptions struct {
	localOptions
	off bool
}

func (o *localFaultOptions) AddFlags(flags *pflag.FlagSet) {
	o.localOptions.AddFlags(flags)
	flags.BoolVar(&o.off, "off", false, "switch the named faults off, or all where none is named")
}

func newLocalFault(app *app) *cobra.Command {
	var opts localFaultOptions
	c := &cobra.Command{
		Use:   "fault [NAME…]",
		Short: "Make the local Cube fail as clusters have failed",
		Long:  "Fault switches faults of the running local Cube on, to rehearse them. Without a name it lists them all; those that are on bear a star.\n\n" + faultHelp(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd.Flags(), "state-dir"); err != nil {
				return err
			}
			return runLocalFault(cmd.Context(), app, app.out, opts, args)
		},
	}
	opts.AddFlags(c.Flags())
	return c
}

func faultHelp() string {
	var b strings.Builder
	for _, f := range cluster.Faults() {
		fmt.Fprintf(&b, "  %-18s %s\n", f, f.About())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func runLocalFault(ctx context.Context, app *app, out io.Writer, opts localFaultOptions, names []string) error {
	for _, name := range names {
		if _, err := cluster.ParseFault(name); err != nil {
			return usagef("%w", err)
		}
	}
	dir, err := opts.dir(app)
	if err != nil {
		return err
	}
	st, err := localcube.Ask(ctx, dir)
	switch {
	case err != nil:
		return localFailed(err)
	case !st.Running:
		return localFailed(fmt.Errorf("%w in %s", localcube.ErrNotRunning, dir))
	case len(names) > 0 || opts.off:
		return localcube.SetFaults(ctx, dir, switched(st.Faults, names, opts.off))
	}
	return printFaults(app, out, st.Faults)
}

// switched is the list of faults that are on, after names were switched.
func switched(on, names []string, off bool) []string {
	if off && len(names) == 0 {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(on), func(name string) bool { return slices.Contains(names, name) })
	if off {
		return out
	}
	return append(out, names...)
}

func printFaults(app *app, out io.Writer, on []string) error {
	type row struct {
		Name  string `json:"name"`
		On    bool   `json:"on"`
		About string `json:"about"`
	}
	rows := []row{}
	for _, f := range cluster.Faults() {
		rows = append(rows, row{string(f), slices.Contains(on, string(f)), f.About()})
	}
	if app.output == "json" {
		return app.printJSON(rows)
	}
	for _, r := range rows {
		star := " "
		if r.On {
			star = "*"
		}
		if _, err := fmt.Fprintf(out, "%s %-18s %s\n", star, r.Name, r.About); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}
