package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/localcube"
)

// localStatusOptions are the flags of local status. Its --output knows one format more than other commands'.
type localStatusOptions struct {
	localOptions
	output string
}

func (o *localStatusOptions) AddFlags(flags *pflag.FlagSet) {
	o.localOptions.AddFlags(flags)
	flags.StringVar(&o.output, "output", "text", "output `format`: text, json, or env for eval in a shell")
}

func newLocalStatus(app *app) *cobra.Command {
	var opts localStatusOptions
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell whether a local Cube runs, and where",
		Long: "Status tells what the local Cube of this user listens on. With --output env it prints lines that make other clients use it: " +
			"eval \"$(hermesbox local status --output env)\".",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseEmpty(cmd.Flags(), "state-dir"); err != nil {
				return err
			}
			return runLocalStatus(cmd.Context(), app, app.out, opts)
		},
	}
	opts.AddFlags(c.Flags())
	return c
}

func runLocalStatus(ctx context.Context, app *app, out io.Writer, opts localStatusOptions) error {
	switch opts.output {
	case "text", "env":
	case "json":
		app.output = "json"
	default:
		return usagef("--output %q is no output format", opts.output).withHint("use text, json or env")
	}
	dir, err := opts.dir(app)
	if err != nil {
		return err
	}
	st, err := localcube.Ask(ctx, dir)
	if err != nil {
		return localFailed(err)
	}
	switch {
	case opts.output == "json":
		return app.printJSON(st)
	case opts.output == "env" && !st.Running:
		return localFailed(fmt.Errorf("%w in %s", localcube.ErrNotRunning, dir))
	case opts.output == "env":
		// No secret is in it, and masking would spoil a key that the environment already has.
		_, err = io.WriteString(app.rawOut, st.Env())
	default:
		err = printLocalStatus(out, st)
	}
	if err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

func printLocalStatus(out io.Writer, st localcube.Status) error {
	if !st.Running {
		_, err := fmt.Fprintln(out, "not running")
		return err
	}
	egress := "enforced"
	if !st.EgressEnforced {
		egress = "not enforced: " + st.EgressReason
	}
	proxy := fmt.Sprintf("%s://%s:%d", st.Proxy.Scheme, st.Proxy.IP, st.Proxy.Port)
	if st.ProxyTLS != "" {
		proxy += ", " + st.ProxyTLS
	}
	_, err := fmt.Fprintf(out, "running      pid %d\nCubeAPI      %s\nCubeMaster   %s\nproxy        %s\ndomain       %s\n/data/shared %s\negress       %s\n",
		st.PID, st.APIURL, st.MasterAddr, proxy, st.Domain, st.SharedRoot, egress)
	if err == nil && len(st.Faults) > 0 {
		_, err = fmt.Fprintf(out, "faults       %s\n", strings.Join(st.Faults, ", "))
	}
	return err
}
