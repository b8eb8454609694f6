package skills

import (
	"cmp"
	"maps"
	"slices"
)

// What a deploy does with a skill.
const (
	Add      = "add"
	Update   = "update"
	Repair   = "repair"   // it was changed on the node; what was there is kept aside
	Remove   = "remove"   // an earlier deploy put it there, and it is no more
	Drop     = "drop"     // the same, of one that was changed on the node; it is kept aside
	Conflict = "conflict" // something else has the name there, and stays
)

// Action is what a deploy does, or would do, with one skill.
type Action struct {
	Skill  string `json:"skill"`
	Action string `json:"action"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	skill  *Skill // nil where nothing is sent
}

// plan compares a set with what a node has.
func plan(s *Set, f Found) []Action {
	actions := []Action{}
	wanted := map[string]bool{}
	for _, skill := range s.Skills {
		wanted[skill.Name] = true
		if verb := verb(skill, f); verb == Conflict {
			actions = append(actions, Action{Skill: skill.Name, Action: verb})
		} else if verb != "" {
			actions = append(actions, Action{skill.Name, verb, len(skill.Files), skill.Bytes, skill})
		}
	}
	for name := range maps.Keys(f.Deployed) {
		switch {
		case wanted[name]:
		case f.Changed[name] && !f.Missing[name]:
			actions = append(actions, Action{Skill: name, Action: Drop})
		default:
			actions = append(actions, Action{Skill: name, Action: Remove})
		}
	}
	slices.SortFunc(actions, func(a, b Action) int { return cmp.Compare(a.Skill, b.Skill) })
	return actions
}

// verb is what has to be done with a skill, empty for nothing.
func verb(s *Skill, f Found) string {
	sum, deployed := f.Deployed[s.Name]
	switch {
	case f.Others[s.Name]:
		return Conflict
	case !deployed:
		return Add
	case f.Missing[s.Name]:
		return Update
	case f.Changed[s.Name]:
		return Repair
	case sum != s.Digest[:indexDigits]:
		return Update
	}
	return ""
}
