package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const watchInterval = 2 * time.Second

// watch lists again and again. On a terminal each list takes the place of the
// one before once it is there, and no more room than there is.
func (s *sandboxes) watch(ctx context.Context, out io.Writer, health bool) error {
	for first := true; ; first = false {
		var page bytes.Buffer
		if err := s.list(ctx, &page, health); err != nil {
			return err
		}
		text, before := page.String(), ""
		if file, ok := s.app.rawOut.(*os.File); ok && isTerminal(file) {
			before = "\x1b[H\x1b[2J"
			if width, height, err := term.GetSize(int(file.Fd())); err == nil {
				text = fit(s.app.secrets.String(text), width, height)
			}
		} else if !first {
			before = "\n"
		}
		if _, err := io.WriteString(out, before+text); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(watchInterval):
		}
	}
}

// fit cuts a table to a terminal, and says how many lines are not shown. The
// last line of the terminal stays free.
func fit(text string, width, height int) string {
	if width < 1 || height < 3 {
		return text
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if most := height - 1; len(lines) > most {
		hidden := len(lines) - most + 1
		lines = append(lines[:most-1], fmt.Sprintf("… and %d more", hidden))
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width {
			lines[i] = string(runes[:width])
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
