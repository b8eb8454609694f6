package cmd

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what this binary was built from.
type version struct {
	// Version is the module's, "(devel)" where the build knew none.
	Version string `json:"version"`
	// Revision is the commit, "" where the build knew none.
	Revision string `json:"revision"`
	// Dirty tells that the working tree differed from the commit.
	Dirty bool   `json:"dirty"`
	Go    string `json:"go"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
}

func newVersion(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print what this program was built from",
		Long:  "Version prints the version, the commit, whether the tree had changes, the Go release and the platform.",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return runVersion(app, app.out)
		},
	}
}

func runVersion(app *app, out io.Writer) error {
	v := buildVersion()
	if app.output == "json" {
		return app.printJSON(v)
	}
	if _, err := fmt.Fprintf(out, "hermesbox %s\n", v); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// buildVersion is this program's.
func buildVersion() version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info)
}

// versionOf reads what the linker recorded.
func versionOf(info *debug.BuildInfo) version {
	v := version{Version: info.Main.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		}
	}
	return v
}

// String is v on one line.
func (v version) String() string {
	revision := v.Revision
	if revision == "" {
		revision = "of no known commit"
	}
	if v.Dirty {
		revision += " with changes"
	}
	return fmt.Sprintf("%s (%s, %s, %s/%s)", v.Version, revision, v.Go, v.OS, v.Arch)
}
