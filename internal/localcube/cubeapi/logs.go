package cubeapi

import (
	"net/http"
	"net/url"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

const defaultLogLines = 1000

type lineJSON struct {
	Timestamp string `json:"timestamp"`
	Line      string `json:"line"`
}

type entryJSON struct {
	Timestamp string            `json:"timestamp"`
	Message   string            `json:"message"`
	Level     string            `json:"level"`
	Fields    map[string]string `json:"fields"`
}

func (s *Server) logsV1(r request) reply {
	lines, refusal := s.logLines(r, "start")
	if refusal != nil {
		return *refusal
	}
	out := struct {
		Logs    []lineJSON  `json:"logs"`
		Entries []entryJSON `json:"logEntries"`
	}{[]lineJSON{}, []entryJSON{}}
	for _, l := range lines {
		out.Logs = append(out.Logs, lineJSON{stamp(l.Time), l.Text})
		out.Entries = append(out.Entries, entry(l))
	}
	return ok(http.StatusOK, out)
}

func (s *Server) logsV2(r request) reply {
	lines, refusal := s.logLines(r, "cursor")
	if refusal != nil {
		return *refusal
	}
	out := struct {
		Logs []entryJSON `json:"logs"`
	}{[]entryJSON{}}
	for _, l := range lines {
		out.Logs = append(out.Logs, entry(l))
	}
	return ok(http.StatusOK, out)
}

func entry(l cluster.LogLine) entryJSON {
	e := entryJSON{stamp(l.Time), l.Text, "info", map[string]string{"stream": "stdout"}}
	if l.Stderr {
		e.Fields["stream"] = "stderr"
	}
	return e
}

func (s *Server) logLines(r request, since string) ([]cluster.LogLine, *reply) {
	query := r.URL.Query()
	limit, refusal := numberOf(query, "limit", defaultLogLines)
	if refusal != nil {
		return nil, refusal
	}
	start, refusal := numberOf(query, since, 0)
	if refusal != nil {
		return nil, refusal
	}
	lines, err := s.opts.Cluster.Logs(r.Context(), r.id(), max(limit, 1))
	if err != nil {
		failed := s.notFound(r.id(), err)
		return nil, &failed
	}
	// A start is milliseconds since 1970, as in E2B.
	var out []cluster.LogLine
	for _, l := range lines {
		if l.Time.UnixMilli() >= int64(start) {
			out = append(out, l)
		}
	}
	return out, nil
}

func numberOf(query url.Values, key string, otherwise int) (int, *reply) {
	if !query.Has(key) {
		return otherwise, nil
	}
	n, err := parseI64(query.Get(key))
	if err != nil {
		refusal := text(http.StatusBadRequest, "Failed to deserialize query string: "+err.Error())
		return 0, &refusal
	}
	return n, nil
}
