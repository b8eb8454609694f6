package sshdial_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/sshdial"
	"github.com/hermesbox/hermesbox/internal/sshtest"
)

func TestRun(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	d := sshdial.Dialer{Getenv: s.Getenv}
	conn, err := d.Dial(t.Context(), s.Target())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var out, errs bytes.Buffer
	code, err := conn.Run(t.Context(), sshdial.Command{Line: "cat; echo err >&2; exit 3", Stdin: strings.NewReader("in"), Stdout: &out, Stderr: &errs})
	if err != nil || code != 3 || out.String() != "in" || errs.String() != "err\n" {
		t.Errorf("Run: %d, %v, stdout %q, stderr %q", code, err, out.String(), errs.String())
	}
}
