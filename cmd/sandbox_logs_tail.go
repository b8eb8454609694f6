package cmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/envd"
)

// logFilesScript prints those of its arguments that are files, each ended by NUL.
const logFilesScript = `for file; do
	[ ! -f "$file" ] || printf '%s\0' "$file"
done`

// logPatterns are where the sources write, for the shell in the sandbox.
var logPatterns = map[string]string{
	sourceWebUI:   "/root/.hermes/web-ui/logs/hermes-studio.log /root/.hermes/web-ui/logs/server.log",
	sourceGateway: "/root/.hermes/logs/*.log",
}

// mostLogFiles is how many files are read at once.
const mostLogFiles = 16

// logFiles lists the files of a source that are there.
func (t *target) logFiles(ctx context.Context, source string) ([]string, error) {
	out := &limited{left: 64 << 10}
	script := "set -- " + logPatterns[source] + "\n" + logFilesScript
	exit, err := t.service.Run(ctx, envd.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/", KillOnCancel: true}, nil, envd.Output{Stdout: out})
	if err != nil {
		return nil, fmt.Errorf("finding the logs: %w", err)
	}
	if !exit.OK() {
		return nil, fmt.Errorf("finding the logs: %s", exit)
	}
	files := strings.FieldsFunc(out.String(), func(r rune) bool { return r == 0 })
	if len(files) > mostLogFiles {
		t.app.warn("%d log files are there; these are the first %d", len(files), mostLogFiles)
		files = files[:mostLogFiles]
	}
	return files, nil
}

// tail prints the ends of files: one after the other, or all at once where they
// are followed.
func (t *target) tail(ctx context.Context, files []string, opts sandboxLogsOptions, out *logPrinter) error {
	all, ctx := errgroup.WithContext(ctx)
	if !opts.follow {
		all.SetLimit(1)
	}
	for _, file := range files {
		all.Go(func() error { return t.judgeCut(ctx, t.tailOne(ctx, file, opts, out.file(file))) })
	}
	return all.Wait()
}

// tailOne runs tail, which knows how to follow a file that is replaced.
func (t *target) tailOne(ctx context.Context, file string, opts sandboxLogsOptions, out *logFile) error {
	lines := "+1"
	if opts.tail >= 0 {
		lines = strconv.Itoa(opts.tail)
	}
	args := []string{"-n", lines}
	if opts.follow {
		args = append(args, "-F")
	}
	said := &limited{left: 64 << 10}
	cmd := envd.Command{Path: "tail", Args: append(args, "--", file), Dir: "/", KillOnCancel: true}
	exit, err := t.service.Run(ctx, cmd, nil, envd.Output{Stdout: out, Stderr: said})
	if errors.Is(err, errTooMuch) {
		return fmt.Errorf("reading %s: tail complains without end", file)
	}
	if err == nil && !exit.OK() {
		err = fmt.Errorf("reading %s: %s: %s", file, exit, strings.TrimSpace(said.String()))
	}
	return errors.Join(err, out.finish())
}

// followed judges the end of logs that were followed: with the sandbox they end
// well.
func (t *target) followed(ctx context.Context, opts sandboxLogsOptions, err error) error {
	if err == nil || !opts.follow || ctx.Err() != nil {
		return err
	}
	now, asking := t.link.GetSandbox(ctx, t.ID)
	switch {
	case errors.Is(asking, cube.ErrNotFound):
		t.app.note("%s has ended, and its log with it", t.Title())
		return nil
	case asking == nil && now.State != cube.Running:
		t.app.note("%s is %s: its log goes on when it does", t.Title(), now.State)
		return nil
	}
	return err
}
