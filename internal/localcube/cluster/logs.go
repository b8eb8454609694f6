package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// LogLine is one line of what a sandbox's own process wrote.
type LogLine struct {
	Time   time.Time
	Text   string
	Stderr bool
}

// Logs reads the last limit lines.
func (c *Cluster) Logs(ctx context.Context, id string, limit int) ([]LogLine, error) {
	b, err := c.find(id)
	if err != nil {
		return nil, err
	}
	stream, err := c.docker.ContainerLogs(ctx, b.container, container.LogsOptions{
		ShowStdout: true, ShowStderr: true, Timestamps: true, Tail: strconv.Itoa(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("reading the log of sandbox %s: %w", id, err)
	}
	lines := &lineSink{}
	_, err = stdcopy.StdCopy(lines.side(false), lines.side(true), stream)
	if err = errors.Join(err, stream.Close()); err != nil {
		return nil, fmt.Errorf("reading the log of sandbox %s: %w", id, err)
	}
	return lines.list, nil
}

// lineSink turns Docker's timestamped output into lines; each write of it is whole lines.
type lineSink struct{ list []LogLine }

type sideSink struct {
	to     *lineSink
	stderr bool
}

func (l *lineSink) side(stderr bool) sideSink { return sideSink{l, stderr} }

func (s sideSink) Write(p []byte) (int, error) {
	scanner := bufio.NewScanner(bytes.NewReader(p))
	scanner.Buffer(nil, len(p)+1)
	for scanner.Scan() {
		stamp, text, _ := strings.Cut(scanner.Text(), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			text = scanner.Text()
		}
		s.to.list = append(s.to.list, LogLine{Time: at, Text: text, Stderr: s.stderr})
	}
	return len(p), scanner.Err()
}
