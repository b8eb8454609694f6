package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// prepare makes the tree and its synced copy where they are missing, and checks that ours and the rival's tar hold the
// same before their speed counts. The work is done by processes of their own: what this one ever held in memory would
// count as the peak of its children.
func prepare(ctx context.Context, s shape, o options) (string, error) {
	dir := filepath.Join(o.dir, s.name)
	if _, err := os.Stat(dir + ".done"); err == nil {
		return dir, same(ctx, dir, o)
	}
	lines := []string{
		fmt.Sprintf("rm -rf %[1]s %[1]s.synced && mkdir -p %[1]s %[1]s.synced", dir),
		fmt.Sprintf("%s -plant %s %s", o.self, s.name, dir),
		fmt.Sprintf("%s -sync %s %s.synced && touch %s.done", o.self, dir, dir, dir),
	}
	for _, line := range lines {
		if _, err := measure(ctx, "/", line); err != nil {
			return "", err
		}
	}
	return dir, same(ctx, dir, o)
}

// same fails where the two tars differ in names or contents. Both are in one order, less the root, which ours leaves out.
func same(ctx context.Context, dir string, o options) error {
	for what, digest := range map[string]string{
		"names":    `tar -tf - | sed -e 's#^\./##' -e '/^$/d' | sha256sum`,
		"contents": `tar -xOf - | sha256sum`,
	} {
		ours, err := output(ctx, dir, o.hermesbox+" context tar . | "+digest)
		if err != nil {
			return err
		}
		rival, err := output(ctx, dir, tarLine+digest)
		if err != nil {
			return err
		}
		if ours != rival {
			return fmt.Errorf("comparing the tars of %s: the %s differ", dir, what)
		}
	}
	return nil
}

func output(ctx context.Context, dir, line string) (string, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running %q: %w", line, err)
	}
	return strings.TrimSpace(string(out)), nil
}
