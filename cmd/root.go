package cmd

import (
	"strings"

	"github.com/spf13/cobra"
)

// newRoot is the whole command tree.
func newRoot(app *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "hermesbox",
		Short:         "Build, register and verify Hermes Agent sandboxes",
		Long:          "hermesbox takes a Hermes Agent checkout to a clean, tested image for CubeSandbox.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return app.checkFlags(strings.Fields(cmd.Annotations[moreFormats])...)
		},
	}
	root.SetIn(app.in)
	root.SetOut(app.out)
	root.SetErr(app.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w", err).withHint("see %s --help", cmd.CommandPath())
	})
	root.SetHelpCommand(newHelp(root))
	app.addFlags(root.PersistentFlags())
	root.AddCommand(
		newUp(app),
		newPlan(app),
		newContext(app),
		newBuild(app),
		newImage(app),
		newTemplate(app),
		newNode(app),
		newHome(app),
		newSkills(app),
		newSandbox(app),
		newVerify(app),
		newLocal(app),
		newDoctor(app),
		newConfig(app),
		newVersion(app),
		newCompletion(app),
	)
	return root
}

// newHelp shows the help of a command; one that does not exist is wrong usage.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("unknown command %q", strings.Join(args, " ")).withHint("hermesbox --help lists the commands")
			}
			return found.Help()
		},
	}
}

// newGroup is a command that only holds others; a word it does not know is wrong usage.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(commands...)
	return group
}

// noArgs refuses arguments, with the nearest command as a hint.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	f := usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return f.withHint("did you mean %s?", strings.Join(near, " or "))
	}
	return f.withHint("see %s --help", cmd.CommandPath())
}

// maxArgs allows up to n arguments.
func maxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return usagef("%s takes at most %d argument(s), got %q", cmd.CommandPath(), n, args).
			withHint("see %s --help", cmd.CommandPath())
	}
}

// oneArg wants one argument, named what.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && strings.TrimSpace(args[0]) == "" {
			return usagef("%s wants %s, got an empty argument", cmd.CommandPath(), what).
				withHint("see %s --help", cmd.CommandPath())
		}
		if len(args) == 1 {
			return nil
		}
		return usagef("%s wants %s, got %d argument(s)", cmd.CommandPath(), what, len(args)).
			withHint("see %s --help", cmd.CommandPath())
	}
}
