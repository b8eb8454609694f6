package cubeapi

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
	"github.com/hermesbox/hermesbox/internal/localcube/serde"
)

// reply is an answer to be written.
type reply struct {
	status int
	header http.Header
	body   []byte
}

const corsVary = "origin, access-control-request-method, access-control-request-headers"

// compressFrom is the size from which bodies are compressed.
const compressFrom = 32

// ok answers JSON.
func ok(status int, value any) reply {
	body, err := marshal(value)
	if err != nil {
		return failure(http.StatusInternalServerError, "writing the answer: "+err.Error())
	}
	return reply{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: body}
}

func marshal(value any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return []byte(strings.TrimSuffix(b.String(), "\n")), err
}

// empty answers without a body.
func empty() reply { return reply{status: http.StatusNoContent} }

// failure is CubeAPI's error shape.
func failure(status int, message string) reply {
	return ok(status, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{status, message})
}

// text is the shape of what the web framework refuses by itself.
func text(status int, message string) reply {
	return reply{status: status, header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, body: []byte(message)}
}

// after adds Retry-After.
func (r reply) after(seconds int) reply {
	r.header.Set("Retry-After", strconv.Itoa(seconds))
	return r
}

// preflight answers OPTIONS.
func preflight(allowed string) reply {
	return reply{status: http.StatusOK, header: http.Header{
		"Allow": {allowed}, "Access-Control-Allow-Methods": {"*"}, "Access-Control-Allow-Headers": {"*"},
	}}
}

func (r reply) write(w http.ResponseWriter, in *http.Request) {
	h := w.Header()
	for name, values := range r.header {
		h[name] = values
	}
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Vary", corsVary)
	if in.Method != http.MethodOptions {
		h.Set("Access-Control-Expose-Headers", "*")
	}
	if len(r.body) >= compressFrom {
		h.Set("Vary", corsVary+", accept-encoding")
		if strings.Contains(in.Header.Get("Accept-Encoding"), "gzip") {
			r.compressed(w)
			return
		}
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // a client that hung up is none of ours to tell
}

func (r reply) compressed(w http.ResponseWriter) {
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(r.status)
	z := gzip.NewWriter(w)
	_, _ = z.Write(r.body) // a client that hung up is none of ours to tell
	_ = z.Close()
}

// maxBody is axum's default limit.
const maxBody = 2 << 20

// body reads and decodes a JSON body; the refusal is not nil where it is none.
func (r request) body(shape serde.Shape) (map[string]any, *reply) {
	refuse := func(status int, message string) (map[string]any, *reply) {
		refusal := text(status, message)
		return nil, &refusal
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return refuse(http.StatusUnsupportedMediaType, "Expected request with `Content-Type: application/json`")
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, "Failed to buffer the request body: "+err.Error())
	case len(data) > maxBody:
		return refuse(http.StatusRequestEntityTooLarge, "Failed to buffer the request body: length limit exceeded")
	}
	value, err := serde.Decode(data, shape)
	var bad *serde.Error
	switch {
	case errors.As(err, &bad) && bad.Syntax:
		return refuse(http.StatusBadRequest, "Failed to parse the request body as JSON: "+bad.Error())
	case err != nil:
		return refuse(http.StatusUnprocessableEntity, "Failed to deserialize the JSON body into the target type: "+err.Error())
	}
	object, _ := value.(map[string]any) // every shape here is an object
	return object, nil
}

// isJSON accepts application/json and application/…+json, as axum does.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// generic words a failure of CubeMaster as CubeAPI passes it on.
func generic(e *cluster.Error) string {
	return fmt.Sprintf("CubeMaster returned error code %d: %s", e.Code, e.Msg)
}
