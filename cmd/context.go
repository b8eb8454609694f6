package cmd

import (
	"github.com/spf13/cobra"

	"github.com/hermesbox/hermesbox/buildctx"
)

func newContext(app *app) *cobra.Command {
	return newGroup("context", "Look at, check and write the clean context of a source",
		newContextLs(app),
		newContextCheck(app),
		newContextExplain(app),
		newContextTar(app),
		newContextClean(app),
	)
}

// litterOf counts what was left out as macOS metadata.
func litterOf(receipt *buildctx.Receipt) int {
	n := 0
	for _, e := range receipt.Excluded {
		if e.Litter {
			n++
		}
	}
	return n
}
