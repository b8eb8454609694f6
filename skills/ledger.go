package skills

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// ledgerVersion is that of ledger.json and sums.
const ledgerVersion = 1

// Ledger is what a node knows of the last deploy that changed something.
//
// The file is JSON: this on the first line, then a line a skill with its
// digest, so that a script can change some of them.
type Ledger struct {
	Version   int       `json:"version"`
	Hermesbox string    `json:"hermesbox"`
	Time      time.Time `json:"time"`
	Revision
	// Run is random, so that a deploy can tell whether another came in between.
	Run string `json:"run"`
}

// headEnd is how the first line ends; closing is what makes it a document.
const (
	headEnd = `"skills":{`
	closing = "}}"
)

// parseHeader reads the first line of a ledger. The version is judged first,
// since a newer one may look different.
func parseHeader(line string) (Ledger, error) {
	var l Ledger
	var version struct {
		Version int `json:"version"`
	}
	text := line
	if strings.HasSuffix(line, headEnd) {
		text += closing
	}
	if err := json.Unmarshal([]byte(text), &version); err == nil && version.Version > ledgerVersion {
		return l, fmt.Errorf("%w: version %d, this one knows %d", ErrNewer, version.Version, ledgerVersion)
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return l, fmt.Errorf("%w: %w", ErrLedger, err)
	}
	if text == line || l.Version != ledgerVersion || l.Run == "" {
		return l, fmt.Errorf("%w: its first line is not one of hermesbox", ErrLedger)
	}
	return l, nil
}

// header is the first line.
func (l Ledger) header() (string, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("writing the ledger: %w", err)
	}
	return strings.TrimSuffix(string(text), "}") + "," + headEnd, nil
}

// ledgerLine is the line of a skill.
func ledgerLine(s *Skill) string { return fmt.Sprintf(`"%s":"sha256:%s"`, s.Name, s.Digest) }

// indexDigits is how much of a digest the index tells.
const indexDigits = 16

// parseIndex reads beginnings of digests and names, by name.
func parseIndex(text string) (map[string]string, error) {
	out := map[string]string{}
	for _, line := range words(text) {
		sum, name, ok := strings.Cut(line, " ")
		if !ok || len(sum) != indexDigits || !namePattern.MatchString(name) || out[name] != "" {
			return nil, fmt.Errorf("%w: it ends early, or has a line that is not one of hermesbox", ErrLedger)
		}
		out[name] = sum
	}
	return out, nil
}
