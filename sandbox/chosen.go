package sandbox

import (
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// Chosen is what somebody asked for one sandbox, other than what the
// configuration has for all. A rebuild keeps it. The zero value is nothing; a
// text that means nothing counts as empty.
type Chosen struct {
	// Timeout is the idle window as time.Duration prints it.
	Timeout string `json:"timeout,omitempty"`
	// OnTimeout is pause or kill.
	OnTimeout string `json:"on_timeout,omitempty"`
	// WebUI is yes or no: whether hermesbox starts it.
	WebUI string `json:"web_ui,omitempty"`
}

// Answers of Chosen.WebUI.
const (
	WebUIYes = "yes"
	WebUINo  = "no"
)

// Window is the idle window: the one that was chosen, else the configured one.
func (c Chosen) Window(configured time.Duration) time.Duration {
	if window, err := time.ParseDuration(c.Timeout); err == nil && window > 0 {
		return window
	}
	return configured
}

// keep takes over what was chosen for the old sandbox, and is not anew.
func (s *Spec) keep(old Chosen) {
	if window := old.Window(0); window > 0 && s.Chosen.Timeout == "" {
		s.Timeout, s.Chosen.Timeout = window, old.Timeout
	}
	if known := old.OnTimeout == cube.OnTimeoutPause || old.OnTimeout == cube.OnTimeoutKill; known && s.Chosen.OnTimeout == "" {
		s.OnTimeout, s.Chosen.OnTimeout = old.OnTimeout, old.OnTimeout
	}
	if old.WebUI == WebUINo && s.Chosen.WebUI == "" {
		s.NoWebUI, s.Chosen.WebUI = true, old.WebUI
	}
}

// The metadata of what was chosen, where something was.
const (
	metaTimeout   = "hermesbox.timeout"
	metaOnTimeout = "hermesbox.on_timeout"
	metaWebUI     = "hermesbox.web_ui"
)

// addTo puts it into a sandbox's metadata.
func (c Chosen) addTo(metadata map[string]string) {
	for key, value := range map[string]string{metaTimeout: c.Timeout, metaOnTimeout: c.OnTimeout, metaWebUI: c.WebUI} {
		if value != "" {
			metadata[key] = value
		}
	}
}

// chosenOf reads it there.
func chosenOf(metadata map[string]string) Chosen {
	return Chosen{Timeout: metadata[metaTimeout], OnTimeout: metadata[metaOnTimeout], WebUI: metadata[metaWebUI]}
}
