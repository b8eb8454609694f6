// Package check is the vocabulary of reports: what was looked at, how it came
// out, what was seen and what to do. It judges nothing itself.
package check

import "time"

// Status is how a check came out.
type Status string

// The statuses, from best to worst; Skip stands aside.
const (
	Pass Status = "pass"
	Skip Status = "skip"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is one judged question.
type Check struct {
	ID         string `json:"id"`
	Status     Status `json:"status"`
	Title      string `json:"title"`
	Evidence   string `json:"evidence"` // what was seen
	Remedy     string `json:"remedy"`   // what to do; empty where nothing is
	Because    string `json:"because"`  // id of the failed check that kept this one from being judged; empty for none
	DurationMS int64  `json:"duration_ms"`
}

// Result is how a question was answered, before it has a name and a duration.
type Result struct {
	Status   Status
	Evidence string
	Remedy   string
	Because  string
}

// Run times fn and makes a Check of its result.
func Run(id, title string, fn func() Result) Check {
	start := time.Now()
	r := fn()
	return Check{
		ID: id, Title: title, Status: r.Status, Evidence: r.Evidence, Remedy: r.Remedy, Because: r.Because,
		DurationMS: time.Since(start).Milliseconds(),
	}
}

// Worst is fail where any check failed, else warn where any warned, else pass.
func Worst(checks []Check) Status {
	worst := Pass
	for _, c := range checks {
		switch c.Status {
		case Fail:
			return Fail
		case Warn:
			worst = Warn
		}
	}
	return worst
}
