package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/settings"
)

// initBody is what /init reads; other fields are dropped.
type initBody struct {
	EnvVars        map[string]string `json:"envVars"`
	AccessToken    *string           `json:"accessToken"`
	Timestamp      *time.Time        `json:"timestamp"`
	DefaultUser    *string           `json:"defaultUser"`
	DefaultWorkdir *string           `json:"defaultWorkdir"`
}

func (s *Server) init(w http.ResponseWriter, r *http.Request) {
	if !s.Old {
		w.Header().Set("X-Envd-Version", s.Version)
	}
	var body initBody
	err := json.NewDecoder(r.Body).Decode(&body)
	if err != nil && !errors.Is(err, io.EOF) || body.AccessToken != nil && *body.AccessToken == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if err := s.settings.Apply(settings.Update(body)); err != nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, err.Error()) // fails only where the client is gone
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if s.Old {
		w.Header().Set("Content-Type", "")
	}
	w.WriteHeader(http.StatusNoContent)
}
