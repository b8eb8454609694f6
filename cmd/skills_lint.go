package cmd

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/skills"
)

func newSkillsLint(app *app) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "lint [DIR]",
		Short: "Judge a directory of public skills",
		Long: `Lint reads every skill of DIR, by default skills.source, and judges it: a SKILL.md whose
frontmatter can be read and names the skill as its directory does, names and sizes that
Hermes takes, no link out of a skill, and no name that Hermes's own skills have. Those are
read from the configured source where it is a checkout of Hermes; else the names of Hermes
0.19.0 are used. It asks nobody, and exits 3 where something fails, with --strict for
warnings too.`,
		Example: "  hermesbox skills lint\n  hermesbox skills lint --output json ~/src/skills",
		Args:    maxArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return runSkillsLint(app, app.out, args, strict)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 3 for warnings too")
	return cmd
}

// lintedSkills is what skills lint prints as JSON.
type lintedSkills struct {
	Source string        `json:"source"`
	Skills []string      `json:"skills"`
	Status check.Status  `json:"status"`
	Checks []check.Check `json:"checks"`
}

func runSkillsLint(app *app, out io.Writer, args []string, strict bool) error {
	loaded, err := app.config()
	if err != nil {
		return err
	}
	set, err := loadSkills(loaded, args)
	if err != nil {
		return err
	}
	report := lintedSkills{Source: set.Dir, Skills: []string{}, Checks: skills.Lint(set, bundledOf(loaded.Config.Source))}
	for _, s := range set.Skills {
		report.Skills = append(report.Skills, s.Name)
	}
	report.Status = check.Worst(report.Checks)
	if app.output == "json" {
		err = app.printJSON(report)
	} else {
		err = printChecks(out, report.Checks)
	}
	if err == nil && (report.Status == check.Fail || strict && report.Status == check.Warn) {
		return errChecks
	}
	return err
}
