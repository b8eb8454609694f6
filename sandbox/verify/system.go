package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
)

// state is how the system inside stands. Times are seconds since 1970.
type state struct {
	// Began is when the look began, Now when the rest was seen.
	Began float64         `json:"began"`
	Now   float64         `json:"now"`
	Disks map[string]room `json:"disks"`
	// Gateways are processes by the home that they have.
	Gateways map[string][]int `json:"gateways"`
	// Ends are when the Web UI ended, and with which code.
	Ends   [][2]string `json:"ends"`
	Ended  *string     `json:"ended"`
	Starts []float64   `json:"starts"`
}

// room is what is free of a file system: bytes, and files where it counts them.
type room struct {
	Free  int64  `json:"free"`
	Files *int64 `json:"files"`
}

// Bounds of what is well.
const (
	clockFail = 30 * time.Second
	clockWarn = 5 * time.Second
	diskFail  = 64 << 20
	diskWarn  = 512 << 20
	filesFail = 100
	crashSpan = 5 * time.Minute
	crashes   = 3
)

func (s *subject) system(context.Context) check.Result {
	var st state
	if err := s.read("facts", "system", &st); err != nil {
		return unknown(err)
	}
	var ended float64
	if err := s.read("facts", "ended", &ended); err != nil {
		return unknown(err)
	}
	results := []check.Result{s.clock(st.Began, ended), st.disk(), st.gateways(), st.crashLoop()}
	slices.SortStableFunc(results, func(a, b check.Result) int { return rank(b) - rank(a) })
	worst := results[0]
	var said []string
	for _, r := range results {
		said = append(said, r.Evidence)
	}
	worst.Evidence = strings.Join(said, "; ")
	return worst
}

func rank(r check.Result) int {
	return slices.Index([]check.Status{check.Pass, check.Warn, check.Fail}, r.Status)
}

// clock compares the two moments at which a look began and ended inside with
// those between which it was made.
func (s *subject) clock(began, ended float64) check.Result {
	const remedy = "set the clock of the node (chrony or another NTP client); a sandbox has that of its node"
	behind := s.asked.Sub(time.UnixMilli(int64(began * 1000)))
	ahead := time.UnixMilli(int64(ended * 1000)).Sub(s.told)
	off := max(behind, ahead, 0)
	off = off.Round(time.Millisecond)
	switch {
	case off > clockFail:
		return failing(remedy, "the clock is off by %s", off)
	case off > clockWarn:
		return warning(remedy, "the clock is off by %s", off)
	}
	return passed("the clock is right")
}

func (st state) disk() check.Result {
	least, where, full := int64(math.MaxInt64), "", ""
	for path, disk := range st.Disks {
		if disk.Free < least {
			least, where = disk.Free, path
		}
		if disk.Files != nil && *disk.Files < filesFail {
			full = path
		}
	}
	const remedy = "free space: in the sandbox for /, on the node for the home and the workspace"
	evidence := fmt.Sprintf("%d MiB free in %s", least>>20, where)
	switch {
	case where == "":
		return failing(remedy, "how much is free is not known")
	case full != "":
		return failing(remedy, "no file can be made in %s: the file system has no inodes left", full)
	case least < diskFail:
		return failing(remedy, "%s", evidence)
	case least < diskWarn:
		return warning(remedy, "%s", evidence)
	}
	return passed("%s at least", evidence)
}

func (st state) gateways() check.Result {
	for home, pids := range st.Gateways {
		if len(pids) > 1 {
			return failing("two gateways write to one home: end all but one with kill, or rebuild the sandbox", "%d gateways run with the home %.80q, processes %v", len(pids), home, pids)
		}
	}
	switch n := len(st.Gateways); n {
	case 0:
		return passed("no gateway runs")
	case 1:
		return passed("one gateway")
	default:
		return passed("%d gateways, each with a home of its own", n)
	}
}

func (st state) crashLoop() check.Result {
	const remedy = "hermesbox sandbox logs shows why; hermesbox sandbox rebuild starts it anew"
	recent := 0
	for _, end := range st.Ends {
		at, err := time.Parse(time.RFC3339, end[0])
		ago := time.UnixMilli(int64(st.Now * 1000)).Sub(at)
		if err == nil && ago < crashSpan && ago > -time.Minute && end[1] != "0" && end[1] != "143" {
			recent++
		}
	}
	starts := 0
	for _, at := range st.Starts {
		if st.Now-at < 120 && at <= st.Now {
			starts++
		}
	}
	switch {
	case st.Ended != nil:
		return failing(remedy, "the Web UI was given up, exit code %.20q", *st.Ended)
	case recent >= crashes:
		return failing(remedy, "the Web UI ended %d times within %s", recent, crashSpan)
	case starts > 5:
		return warning("wait two minutes between starts: Hermes sleeps before each", "%d gateway starts within two minutes", starts)
	}
	return passed("no crash loop")
}
