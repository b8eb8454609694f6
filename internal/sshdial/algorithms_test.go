package sshdial

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	standard, supported := []string{"a1", "b1", "b2"}, []string{"a1", "a2", "b1", "b2", "c1"}
	for spec, want := range map[string][]string{
		"b2,a1":    {"b2", "a1"},
		"x,b2":     {"b2"},
		"+c1,b1":   {"a1", "b1", "b2", "c1"},
		"-b*":      {"a1"},
		"^b2,c1":   {"b2", "c1", "a1", "b1"},
		"^nosuch":  {"a1", "b1", "b2"},
		"a?":       {"a1", "a2"},
		"nosuch":   nil,
		"-*":       {},
		"b1,b1,b1": {"b1"},
	} {
		if diff := cmp.Diff(want, choose(spec, standard, supported)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
	if diff := cmp.Diff([]string{"a1", "b1", "b2"}, standard); diff != "" {
		t.Errorf("the standard was changed:\n%s", diff)
	}
}
