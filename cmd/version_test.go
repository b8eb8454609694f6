package cmd

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	t.Parallel()
	machine := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
	tests := []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"nothing recorded", debug.BuildInfo{}, "(devel) (of no known commit, " + machine + ")"},
		{"installed by version", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3 (of no known commit, " + machine + ")"},
		{"clean checkout", debug.BuildInfo{
			Main:     debug.Module{Version: "v1.2.3"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}},
		}, "v1.2.3 (abc, " + machine + ")"},
		{"changed checkout", debug.BuildInfo{
			Main:     debug.Module{Version: "(devel)"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
		}, "(devel) (abc with changes, " + machine + ")"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := versionOf(&tt.info).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
