package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"
)

// ErrState is a state file that can be neither read nor moved aside.
var ErrState = errors.New("the state cannot be used")

// parseState reads the text of a state file. One that is cut off, or not from
// here, is an error.
func parseState(text []byte) (state, error) {
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return s, err
	}
	if !instanceForm.MatchString(s.Instance) { // parts of it name networks and rules
		return s, fmt.Errorf("the instance named in it, %q, is none", s.Instance)
	}
	for id, t := range s.Templates {
		if t == nil {
			return s, fmt.Errorf("template %s is empty", id)
		}
	}
	for id, j := range s.Jobs {
		if j == nil {
			return s, fmt.Errorf("job %s is empty", id)
		}
	}
	for id, r := range s.Records {
		if r == nil {
			return s, fmt.Errorf("sandbox %s is empty", id)
		}
	}
	return s, nil
}

// setAside keeps a broken state file under another name, and begins anew with
// what is still legible of it: by the instance our containers are known.
func (st *store) setAside(text []byte, cause error) error {
	aside := st.path + ".broken-" + time.Now().UTC().Format("20060102T150405.000Z")
	if err := os.Rename(st.path, aside); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	st.s = state{Instance: instanceIn(text), Lost: true}
	st.broken = fmt.Errorf("%s could not be read (%w) and is now %s", st.path, cause, aside)
	return nil
}

var (
	instanceForm = regexp.MustCompile(`^[0-9a-f]{16}$`)
	instancePart = regexp.MustCompile(`"instance":\s*"([0-9a-f]{16})"`)
)

func instanceIn(text []byte) string {
	if found := instancePart.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// anew is the record of a sandbox whose own was lost: it never times out.
func (b *box) anew() *record {
	r := &record{Window: Never, LastUse: time.Now()}
	if b.state == StatePaused {
		r.PausedAt = r.LastUse
	}
	return r
}

// tellLoss warns of what a lost state file had; found is the number of sandboxes that the Engine has all the same.
func (c *Cluster) tellLoss(found int) {
	if c.store.broken != nil {
		c.opts.Log.Warn("the state file was broken: templates, jobs and faults are lost", "cause", c.store.broken)
	}
	if found > 0 {
		c.opts.Log.Warn("sandboxes were found again without their records: they have no idle timeout any more, and the outbound rules that they were made with", "sandboxes", found)
	}
}
