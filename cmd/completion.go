package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// shells are those that cobra can write completions for.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func newCompletion(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Long: `Completion prints a script that makes the shell complete hermesbox's commands and flags.

For this session:
  bash        source <(hermesbox completion bash)
  zsh         source <(hermesbox completion zsh)
  fish        hermesbox completion fish | source
  powershell  hermesbox completion powershell | Out-String | Invoke-Expression

For every session, put that line into the shell's start-up file.`,
		ValidArgs: shells(),
		Args:      oneShell,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompletion(cmd.Root(), app.out, args[0])
		},
	}
}

// oneShell wants one argument, a shell that is known.
func oneShell(cmd *cobra.Command, args []string) error {
	if err := oneArg("a shell")(cmd, args); err != nil {
		return err
	}
	if !slices.Contains(shells(), args[0]) {
		return usagef("no completion for shell %q", args[0]).withHint("use one of %s", strings.Join(shells(), ", "))
	}
	return nil
}

func runCompletion(root *cobra.Command, out io.Writer, shell string) error {
	generate := map[string]func(io.Writer) error{
		"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        root.GenZshCompletion,
		"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": root.GenPowerShellCompletionWithDesc,
	}
	if err := generate[shell](out); err != nil {
		return fmt.Errorf("writing the completion script: %w", err)
	}
	return nil
}
