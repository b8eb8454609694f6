package cubeapi

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// Rows that a list has at most, before it is filtered.
const (
	limitV1      = 200
	defaultLimit = 100
)

// listedJSON is one sandbox of a list.
type listedJSON struct {
	TemplateID  string            `json:"templateID"`
	SandboxID   string            `json:"sandboxID"`
	ClientID    string            `json:"clientID"`
	StartedAt   string            `json:"startedAt"`
	EndAt       string            `json:"endAt,omitempty"` // absent: never
	CPUCount    int64             `json:"cpuCount"`
	CPUMilli    int64             `json:"cpuMilli,omitempty"`
	MemoryMB    int64             `json:"memoryMB"`
	DiskSizeMB  int               `json:"diskSizeMB"` // always 0, as measured
	Metadata    map[string]string `json:"metadata"`
	State       string            `json:"state"`
	EnvdVersion string            `json:"envdVersion"`
}

// detailJSON is one sandbox by itself.
type detailJSON struct {
	listedJSON
	Domain string `json:"domain"`
}

func listed(b cluster.Sandbox) listedJSON {
	metadata := maps.Clone(b.Metadata)
	maps.Copy(metadata, b.ListLabels)
	return listedJSON{
		TemplateID: b.TemplateID, SandboxID: b.ID, ClientID: b.NodeID, StartedAt: stamp(b.Created), EndAt: end(b),
		CPUCount: b.CPUCount, CPUMilli: b.CPUMilli, MemoryMB: b.ListMB, Metadata: metadata, State: b.State, EnvdVersion: b.EnvdVersion,
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000Z") }

func end(b cluster.Sandbox) string {
	if b.End.IsZero() {
		return ""
	}
	return stamp(b.End)
}

func (s *Server) listV1(r request) reply {
	query := r.URL.Query()
	if refusal := r.one(query, "metadata"); refusal != nil {
		return *refusal
	}
	return s.list(r, limitV1, query.Get("metadata"), "")
}

func (s *Server) listV2(r request) reply {
	query := r.URL.Query()
	if refusal := r.one(query, "metadata", "state", "limit", "nextToken"); refusal != nil {
		return *refusal
	}
	limit := defaultLimit
	if query.Has("limit") {
		n, err := parseI32(query.Get("limit"))
		if err != nil {
			return text(http.StatusBadRequest, "Failed to deserialize query string: "+err.Error())
		}
		limit = max(n, 1)
	}
	return s.list(r, limit, query.Get("metadata"), query.Get("state"))
}

func (s *Server) list(r request, limit int, metadata, state string) reply {
	all, err := s.opts.Cluster.Sandboxes(r.Context())
	if err != nil {
		return failure(http.StatusInternalServerError, generic(cluster.AsError(err)))
	}
	out := []listedJSON{}
	for _, b := range all[:min(limit, len(all))] {
		row := listed(b)
		if matches(row, metadata, state) {
			out = append(out, row)
		}
	}
	return ok(http.StatusOK, out)
}

// matches applies the filters. A part without = matches everything, and so does an unknown state, as measured.
func matches(row listedJSON, metadata, state string) bool {
	if (state == cluster.StateRunning || state == cluster.StatePaused) && row.State != state {
		return false
	}
	for part := range strings.SplitSeq(metadata, "&") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		if k, err := url.QueryUnescape(key); err == nil {
			key = k
		}
		if v, err := url.QueryUnescape(value); err == nil {
			value = v
		}
		if got, has := row.Metadata[key]; !has || got != value {
			return false
		}
	}
	return true
}

func parseI32(text string) (int, error) { return parseInt(text, 32) }

func parseI64(text string) (int, error) { return parseInt(text, 64) }

// parseInt reads an integer with the errors of Rust's parser.
func parseInt(text string, bits int) (int, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	switch {
	case text == "":
		return 0, errors.New("cannot parse integer from empty string")
	case errors.Is(err, strconv.ErrRange) && strings.HasPrefix(text, "-"):
		return 0, errors.New("number too small to fit in target type")
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("number too large to fit in target type")
	case err != nil:
		return 0, errors.New("invalid digit found in string")
	}
	return int(n), nil
}

func (s *Server) detail(r request) reply {
	b, err := s.opts.Cluster.Sandbox(r.Context(), r.id())
	if err != nil {
		return s.notFound(r.id(), err)
	}
	row := detailJSON{listed(b), s.opts.Domain}
	row.Metadata, row.MemoryMB = b.Metadata, b.DetailMB
	if row.State != cluster.StatePaused {
		row.State = cluster.StateRunning
	}
	return ok(http.StatusOK, row)
}
