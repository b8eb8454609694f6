package cmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptCube is the CubeAPI of a script: what its files say, and what the
// script did to it.
type scriptCube struct {
	mu        sync.Mutex
	templates json.RawMessage
	boxes     []map[string]any
	busy      bool // neither resumes nor stops, as before 0.7.0
	lost      bool // lists what is paused and does not find it, as 0.7.0
}

// serveCube is the script command "cube TEMPLATES SANDBOXES [busy|lost]": it serves
// a CubeAPI of two JSON files and puts its address into CUBE_API_URL.
func serveCube(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: cube templates.json sandboxes.json [busy|lost]")
	}
	c := &scriptCube{templates: json.RawMessage(ts.ReadFile(args[0])), busy: slices.Contains(args[2:], "busy"), lost: slices.Contains(args[2:], "lost")}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &c.boxes))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /templates", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, c.templates) })
	mux.HandleFunc("GET /v2/sandboxes", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		say(w, http.StatusOK, c.boxes)
	})
	mux.HandleFunc("GET /sandboxes/{id}", c.on(func(w http.ResponseWriter, i int) { say(w, http.StatusOK, c.boxes[i]) }))
	mux.HandleFunc("POST /sandboxes/{id}/pause", c.on(func(w http.ResponseWriter, i int) {
		if c.boxes[i]["stubborn"] != nil {
			say(w, http.StatusInternalServerError, map[string]any{"code": 500, "message": "CubeMaster returned error code 130593: no"})
			return
		}
		c.boxes[i]["state"] = "paused"
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.HandleFunc("POST /sandboxes/{id}/connect", c.on(func(w http.ResponseWriter, i int) {
		c.boxes[i]["state"] = "running"
		say(w, http.StatusOK, c.boxes[i])
	}))
	mux.HandleFunc("DELETE /sandboxes/{id}", c.on(func(w http.ResponseWriter, i int) {
		c.boxes = append(c.boxes[:i:i], c.boxes[i+1:]...)
		w.WriteHeader(http.StatusNoContent)
	}))
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv("CUBE_API_URL", server.URL)
}

// on is a handler of one sandbox.
func (c *scriptCube) on(do func(http.ResponseWriter, int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.busy && (r.Method == http.MethodDelete || strings.HasSuffix(r.URL.Path, "/connect")) {
			say(w, http.StatusInternalServerError, map[string]any{
				"code":    500,
				"message": `CubeMaster returned error code 130589: resume: OpenTap(TapOpen(ConfigureTap(Os { code: 16, kind: ResourceBusy, message: "Device or resource busy" })))`,
			})
			return
		}
		for i, b := range c.boxes {
			if b["sandboxID"] == r.PathValue("id") && (!c.lost || b["state"] != "paused" || r.Method == http.MethodDelete) {
				do(w, i)
				return
			}
		}
		say(w, http.StatusNotFound, map[string]any{"code": 404, "message": "sandbox not found"})
	}
}

func say(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client then fails
}
