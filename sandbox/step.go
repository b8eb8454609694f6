package sandbox

import "fmt"

// Steps is how many steps a create has.
const Steps = 10

// What came of a step.
const (
	Done    = "done"
	Skipped = "skipped"
	Failed  = "failed"
)

// Step is one of the ten steps of a create, as it ended.
type Step struct {
	Number int    `json:"step"`
	Name   string `json:"name"`
	Status string `json:"status"`
	// Detail is what was found or done, or why not.
	Detail string `json:"detail"`
}

func (s Step) String() string {
	return fmt.Sprintf("step %d/%d %s: %s", s.Number, Steps, s.Name, s.Detail)
}

// stepNames are what the steps are about.
var stepNames = [Steps]string{
	"resolve", "directories", "home", "sandbox", "command service",
	"mounts", "skills", "web ui", "url", "check",
}
