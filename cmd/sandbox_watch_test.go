package cmd_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// TestWatch: ls --watch on a terminal shows each list in place of the last once it is
// there, cut to what the terminal is now, and ends at an interrupt.
func TestWatch(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /templates", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, []any{}) })
	mux.HandleFunc("GET /v2/sandboxes", func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		var boxes []map[string]any
		for i := range 30 {
			name := fmt.Sprintf("box-%02d", i)
			boxes = append(boxes, map[string]any{
				"sandboxID": "id-" + name, "templateID": strings.Repeat("t", 200), "state": "running",
				"metadata": map[string]string{"hermesbox.name": name, "hermesbox.home": name, "hermesbox.generation": "1"},
			})
		}
		say(w, http.StatusOK, boxes)
	})
	api := httptest.NewServer(mux)
	defer api.Close()
	screen, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	defer terminal.Close()
	size := func(columns, rows uint16) {
		if err := pty.Setsize(terminal, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
			t.Error(err)
		}
	}
	size(80, 10)
	path, err := program()
	if err != nil {
		t.Fatalf("building hermesbox: %v", err)
	}
	limited, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	var stderr bytes.Buffer
	c := exec.CommandContext(limited, path, "sandbox", "ls", "--watch")
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), terminal, &stderr
	c.Env = []string{"CUBE_API_URL=" + api.URL, "HOME=" + c.Dir}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		var text bytes.Buffer
		buf := make([]byte, 64<<10)
		for !strings.Contains(text.String(), "id-box-29") || !strings.HasSuffix(text.String(), "\n") {
			n, err := screen.Read(buf)
			if text.Write(buf[:n]); err != nil {
				break
			}
			if strings.Contains(text.String(), "more") {
				size(40, 40)
			}
		}
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		shown <- text.String()
	}()
	_ = c.Wait() // the exit code tells
	terminal.Close()
	pages := strings.Split(<-shown, "\x1b[H\x1b[2J")
	if code := c.ProcessState.ExitCode(); code != 130 || len(pages) < 3 || len(asked) < 2 || pages[0] != "" {
		t.Fatalf("exit code %d, asked %d times, %d lists\n%s", code, len(asked), len(pages)-1, &stderr)
	}
	for i, want := range map[int]struct {
		lines, width int
		last         string
	}{1: {9, 80, "… and 23 more"}, len(pages) - 1: {31, 40, "id-box-29  box-29  running  box-29"}} {
		lines := strings.Split(strings.TrimSuffix(pages[i], "\r\n"), "\r\n")
		if len(lines) != want.lines || !strings.HasPrefix(lines[len(lines)-1], want.last) {
			t.Errorf("list %d: %d lines, the last %q", i, len(lines), lines[len(lines)-1])
		}
		for _, line := range lines {
			if len([]rune(line)) > want.width {
				t.Errorf("list %d: wider than %d: %q", i, want.width, line)
			}
		}
	}
}
