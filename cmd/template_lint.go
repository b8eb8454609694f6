package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/template"
)

// templateLintOptions are the flags of template lint.
type templateLintOptions struct {
	templateOptions
	endpoints []string
	strict    bool
}

func (o *templateLintOptions) AddFlags(flags *pflag.FlagSet) {
	o.addEgress(flags)
	flags.StringArrayVar(&o.endpoints, "model-endpoint", nil, "`address` that the agent must reach (repeatable; default sandbox.model_endpoints)")
	flags.BoolVar(&o.strict, "strict", false, "exit 3 for warnings too")
}

func newTemplateLint(app *app) *cobra.Command {
	var opts templateLintOptions
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Judge the outbound policy before anything is sent",
		Long: `Lint explains what the outbound policy of the configuration, or of the flags, opens and
closes, and judges it: what is allowed beats what is denied; internet access opens the
public internet and never the LAN; 0.0.0.0/0 opens all private networks and the metadata
address. It asks nobody. It exits 3 where something cannot work, and with --strict for
warnings too.`,
		Example: "  hermesbox template lint\n  hermesbox template lint --allow-out-cidr 0.0.0.0/0 --model-endpoint http://10.10.0.5:8000",
		Args:    noStrayBool,
		RunE: func(*cobra.Command, []string) error {
			return runTemplateLint(app, app.out, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// lintReport is what template lint prints as JSON.
type lintReport struct {
	Egress   template.Egress    `json:"egress"`
	Words    []string           `json:"egress_words"`
	Findings []template.Finding `json:"findings"`
}

func runTemplateLint(app *app, out io.Writer, opts templateLintOptions) error {
	loaded, err := app.config(opts.overrides()...)
	if err != nil {
		return err
	}
	spec, err := opts.spec(loaded)
	if err != nil {
		return err
	}
	endpoints := opts.endpoints
	if len(endpoints) == 0 {
		endpoints = loaded.Config.Sandbox.ModelEndpoints
	}
	report := lintReport{Egress: spec.Egress, Words: spec.Egress.Words(), Findings: template.Lint(spec, endpoints)}
	if app.output == "json" {
		err = app.printJSON(report)
	} else {
		err = printLint(out, report)
	}
	if err == nil && failsLint(report.Findings, opts.strict) {
		return errChecks
	}
	return err
}

func failsLint(found []template.Finding, strict bool) bool {
	for _, f := range found {
		if f.Severity == template.Error || strict && f.Severity == template.Warning {
			return true
		}
	}
	return false
}

func printLint(out io.Writer, r lintReport) error {
	for _, sentence := range r.Words {
		if _, err := fmt.Fprintln(out, sentence); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	for _, f := range r.Findings {
		line := fmt.Sprintf("%-7s  %s: %s\n", f.Severity, f.ID, f.Detail)
		if f.Remedy != "" {
			line += fmt.Sprintf("%-7s  → %s\n", "", f.Remedy)
		}
		if _, err := io.WriteString(out, line); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}
