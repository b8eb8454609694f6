package cmd

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// logLine is a line as JSON has it.
type logLine struct {
	File string `json:"file"`
	Line string `json:"line"`
}

// logPrinter prints lines of several files, whole ones.
type logPrinter struct {
	app    *app
	prefix bool
	json   bool

	mu        sync.Mutex
	lines     []logLine // for JSON
	announced int
}

func newLogPrinter(app *app, files []string) *logPrinter {
	return &logPrinter{app: app, prefix: len(files) > 1, json: app.output == "json", lines: []logLine{}}
}

// finish prints what is one document.
func (p *logPrinter) finish() error {
	if !p.json {
		return nil
	}
	return p.app.printJSON(p.lines)
}

// print prints a line.
func (p *logPrinter) print(file, line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	line = visible(p.hide(colour.ReplaceAllString(strings.TrimSuffix(line, "\r"), "")))
	switch {
	case p.json:
		p.lines = append(p.lines, logLine{file, line})
		return nil
	case p.prefix:
		line = path.Base(file) + ": " + line
	}
	_, err := fmt.Fprintln(p.app.out, line)
	return err
}

// colour is what a terminal shows in colour.
var colour = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// named is a value that a log shows beside the name of a secret, as the Web UI
// does when it starts, or as the credential of a request.
var named = regexp.MustCompile(`(?i)((?:[a-z0-9_-]*(?:key|token|secret|password|credential)[a-z0-9_-]*["']?\s*[:=]\s*|\bbearer\s+)["']?)([a-z0-9._~+/=%:-]{8,})`)

// mostAnnounced is how many of them are looked for elsewhere too.
const mostAnnounced = 64

// hide masks the secrets that a line names, and makes the first of them secrets
// everywhere.
func (p *logPrinter) hide(line string) string {
	for _, match := range named.FindAllStringSubmatch(line, -1) {
		if p.announced++; p.announced <= mostAnnounced {
			p.app.secrets.Add(match[2])
		}
	}
	return named.ReplaceAllString(line, "${1}"+redact.Mask)
}

// longestLine is how much of a line is waited for.
const longestLine = 256 << 10

// logFile makes lines of what tail prints of a file.
type logFile struct {
	name string
	to   *logPrinter
	part []byte
}

func (p *logPrinter) file(name string) *logFile { return &logFile{name: visible(name), to: p} }

func (f *logFile) Write(p []byte) (int, error) {
	f.part = append(f.part, p...)
	for {
		end := bytes.IndexByte(f.part, '\n')
		if end < 0 && len(f.part) < longestLine {
			return len(p), nil
		}
		if end < 0 {
			end = len(f.part)
		}
		line := string(f.part[:end])
		f.part = append(f.part[:0], f.part[min(end+1, len(f.part)):]...)
		if err := f.to.print(f.name, line); err != nil {
			return 0, err
		}
	}
}

// finish prints a last line that has no end.
func (f *logFile) finish() error {
	if len(f.part) == 0 {
		return nil
	}
	line := string(f.part)
	f.part = nil
	return f.to.print(f.name, line)
}
