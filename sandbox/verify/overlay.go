package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/skills"
)

// publicSkill is how a public skill stands in the home.
type publicSkill struct {
	// Copy tells that the home has a directory that is byte for byte the same.
	Copy bool `json:"copy"`
	// Here tells that it is for this system.
	Here bool `json:"here"`
}

func (s *subject) overlay(context.Context) check.Result {
	const remedy = "hermesbox skills refresh links what is missing and removes what is gone"
	laid, err := s.laid.get()
	if err != nil {
		return failing(remedy, "%v", err)
	}
	var told struct {
		Skills   map[string]publicSkill `json:"skills"`
		Dangling []string               `json:"dangling"`
	}
	if err := s.read("facts", "public", &told); err != nil {
		return unknown(err)
	}
	public := told.Skills
	var copies []string
	for _, name := range slices.Sorted(maps.Keys(public)) {
		if public[name].Copy {
			copies = append(copies, name)
		}
	}
	for _, bad := range []struct {
		names        []string
		what, remedy string
	}{
		{laid.Missing, "not linked", remedy},
		{laid.Dangling, "linked, but gone", remedy},
		{copies, "copied, and the copy will not follow a deploy", "remove the copy from the home, then hermesbox skills refresh"},
		{laid.Twice, "linked and private at once", "rename the private skill, or remove it"},
	} {
		if len(bad.names) > 0 {
			return failing(bad.remedy, "%d of the public skills %s: %s", len(bad.names), bad.what, shown(bad.names))
		}
	}
	if len(told.Dangling) > 0 {
		return failing("remove these links, or bring back what they lead to", "links in the home's skills dangle: %s", shown(told.Dangling))
	}
	return s.overlayListed(laid, public)
}

// overlayListed wants each linked skill once in what Hermes lists.
func (s *subject) overlayListed(laid skills.Overlaid, public map[string]publicSkill) check.Result {
	var got ran
	if err := s.read("agent", "listed", &got); err != nil {
		return unknown(err)
	}
	if got.Code != 0 {
		return failing("run hermes skills list in the sandbox", "hermes skills list: exit code %d: %s", got.Code, oneLine(got.Err))
	}
	times := countListed(got.Out)
	var odd []string
	for _, name := range laid.Kept {
		if public[name].Here && times[name] != 1 {
			odd = append(odd, fmt.Sprintf("%s %d times", name, times[name]))
		}
	}
	if len(odd) > 0 {
		return failing("hermesbox skills lint tells what is wrong with a skill; its name must be that of its directory", "hermes skills list has %s", shown(odd))
	}
	kept := len(laid.Private) + len(laid.Elsewhere)
	if laid.Unnamed {
		return warning("add /opt/hermes-common-skills to skills.external_dirs in the home's config.yaml", "%d linked, %d private; the settings do not name the public skills, so that Hermes warns of each", len(laid.Kept), kept)
	}
	return passed("%d linked and listed once, %d private", len(laid.Kept), kept)
}

// countListed counts the names in the first column of Hermes's table.
func countListed(table string) map[string]int {
	times := map[string]int{}
	for line := range strings.Lines(table) {
		cells := strings.FieldsFunc(line, func(r rune) bool { return r == '│' || r == '┃' || r == '|' })
		if len(cells) > 2 {
			times[strings.TrimSpace(cells[0])]++
		}
	}
	return times
}
