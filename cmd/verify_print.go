package cmd

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/sandbox/verify"
)

// printReport prints a report in the format that was asked for.
func (a *app) printReport(out io.Writer, r verify.Report) error {
	switch a.output {
	case "json":
		return a.printJSON(r)
	case "junit":
		return check.WriteJUnit(out, check.Suite{
			Name: "hermesbox verify", StartedAt: r.StartedAt, Duration: time.Duration(r.DurationMS) * time.Millisecond,
			Properties: [][2]string{{"sandbox", r.Sandbox}, {"template", r.Template}, {"status", string(r.Status)}},
		}, visibleChecks(a.maskedChecks(r.Checks)))
	}
	if err := printChecks(out, visibleChecks(r.Checks)); err != nil {
		return err
	}
	a.note("sandbox %s of template %s: %s", printable(r.Sandbox), printable(r.Template), tally(r.Checks))
	return nil
}

// visibleChecks are checks whose evidence, which comes from inside a sandbox,
// cannot move the cursor or pass for another line.
func visibleChecks(checks []check.Check) []check.Check {
	out := make([]check.Check, 0, len(checks))
	for _, c := range checks {
		c.Evidence = visible(strings.ReplaceAll(c.Evidence, "\n", " | "))
		out = append(out, c)
	}
	return out
}

// maskedChecks are checks without secrets, for a format that would give these a
// form in which they are not known.
func (a *app) maskedChecks(checks []check.Check) []check.Check {
	out := make([]check.Check, 0, len(checks))
	for _, c := range checks {
		c.Evidence = a.secrets.String(c.Evidence)
		out = append(out, c)
	}
	return out
}

// tally counts how checks came out.
func tally(checks []check.Check) string {
	counts := map[check.Status]int{}
	for _, c := range checks {
		counts[c.Status]++
	}
	return fmt.Sprintf("%d passed, %d warned, %d failed, %d skipped", counts[check.Pass], counts[check.Warn], counts[check.Fail], counts[check.Skip])
}

// printCheckList lists the checks that there are.
func printCheckList(a *app, out io.Writer) error {
	all := verify.List()
	if a.output == "json" {
		return a.printJSON(all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range all {
		note := ""
		if c.Own {
			note = " (without SANDBOX only)"
		}
		fmt.Fprintf(table, "%s\t%s%s\n", c.ID, c.Title, note)
	}
	return table.Flush()
}
