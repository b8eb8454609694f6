package cube

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// LogEntry is a line of a sandbox's log. Level is empty where Cube gives none.
type LogEntry struct {
	Timestamp Time              `json:"timestamp,omitzero"`
	Level     string            `json:"level,omitempty"`
	Message   string            `json:"message"`
	Fields    map[string]string `json:"fields,omitempty"`
}

// SandboxLogs reads at most limit entries, oldest first; 0 leaves the number to
// Cube. The May version answers with one line that says it has none, for
// sandboxes that do not exist too. What a sandbox logs may hold secrets.
func (c *Client) SandboxLogs(ctx context.Context, id string, limit int) ([]LogEntry, error) {
	path, err := segment("sandbox", id)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var out logAnswer
	err = c.apiCall(ctx, call{method: http.MethodGet, path: "/v2/sandboxes/" + path + "/logs", query: query, budget: quick}, &out)
	return out.entries(), err
}

// logAnswer is that of both routes: the older writes line for message and may
// have structured entries beside.
type logAnswer struct {
	Logs []struct {
		LogEntry
		Line string `json:"line"`
	} `json:"logs"`
	Entries []LogEntry `json:"logEntries"`
}

func (a logAnswer) entries() []LogEntry {
	if len(a.Entries) > 0 {
		return a.Entries
	}
	var out []LogEntry
	for _, l := range a.Logs {
		if l.Message == "" {
			l.Message = l.Line
		}
		out = append(out, l.LogEntry)
	}
	return out
}
