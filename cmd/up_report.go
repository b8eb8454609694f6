package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/config"
)

// reportDir is where reports are kept, beside hermesbox.yaml.
const reportDir = ".hermesbox/reports"

// subject is what a report is about. A report of another subject says nothing.
type subject struct {
	Hermesbox string        `json:"hermesbox"` // version and commit
	Cube      string        `json:"cube"`      // its address, or local
	Domain    string        `json:"domain"`
	Proxy     config.Proxy  `json:"proxy"`
	Template  string        `json:"template"`
	Image     string        `json:"image"`
	Stage     string        `json:"stage"` // what was gone through: smoke or verify
	Nodes     []config.Node `json:"nodes"`
	// SharedRoot and ModelEndpoints are settings that no template has.
	SharedRoot     string   `json:"shared_root"`
	ModelEndpoints []string `json:"model_endpoints"`
}

// report is a file under reportDir, which can be deleted.
type report struct {
	Subject    subject       `json:"subject"`
	Status     check.Status  `json:"status"`
	StartedAt  time.Time     `json:"started_at"`
	DurationMS int64         `json:"duration_ms"`
	Checks     []check.Check `json:"checks"`
}

func (p *pipeline) subject(stage string) subject {
	cfg := p.loaded.Config
	v := buildVersion()
	s := subject{
		Hermesbox: v.Version + " " + v.Revision, Cube: cfg.Cube.MasterAddr + " " + cfg.Cube.APIURL, Domain: cfg.Cube.Domain, Proxy: cfg.Cube.Proxy, Template: p.template,
		Image: p.built.Ref(), Stage: stage, Nodes: cfg.Nodes, SharedRoot: cfg.SharedRoot, ModelEndpoints: cfg.Sandbox.ModelEndpoints,
	}
	if p.local {
		s.Cube, s.Domain, s.Proxy, s.Nodes = "local", "", config.Proxy{}, nil
	}
	return s
}

// digest tells subjects apart.
func (s subject) digest() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("naming the report: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func (s subject) path(dir string) (string, error) {
	digest, err := s.digest()
	return filepath.Join(dir, filepath.FromSlash(reportDir), digest[:min(len(digest), 16)]+".json"), err
}

// green is the path of a report that says that all was well with this template,
// these nodes and these settings. One that cannot be read is none.
func (p *pipeline) green() (string, bool) {
	if p.template == "" {
		return "", false
	}
	path, ok := p.greenOf(stageVerify)
	if !ok && p.opts.until == stageSmoke {
		path, ok = p.greenOf(stageSmoke)
	}
	return path, ok
}

// greenOf is green about one stage.
func (p *pipeline) greenOf(stage string) (string, bool) {
	about := p.subject(stage)
	path, err := about.path(projectDir(p.loaded))
	if err != nil {
		return "", false
	}
	text, err := os.ReadFile(path)
	var found report
	if err != nil || json.Unmarshal(text, &found) != nil {
		return "", false
	}
	want, err := about.digest()
	have, other := found.Subject.digest()
	good := err == nil && other == nil && want == have && len(found.Checks) > 0 && check.Worst(found.Checks) != check.Fail
	return path, good && found.Status != check.Fail
}

// writeReport keeps a report of all checks so far, in one step, and returns its path.
func (p *pipeline) writeReport(stage string, began time.Time) (string, error) {
	about := p.subject(stage)
	path, err := about.path(projectDir(p.loaded))
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(report{about, check.Worst(p.checks), began.UTC(), time.Since(began).Milliseconds(), p.checks}, "", "  ")
	if err == nil {
		err = replaceFile(path, []byte(p.app.secrets.String(string(text))+"\n"))
	}
	if err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	p.app.note("report: %s", path)
	return path, nil
}

// replaceFile writes a file in one step, and the directories above it.
func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is renamed, or of no use
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
