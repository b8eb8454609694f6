package verify

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/check"
	"github.com/hermesbox/hermesbox/internal/envd"
)

// identity is who a process is.
type identity struct {
	UID        int     `json:"uid"`
	Home       string  `json:"home"`
	HermesHome string  `json:"hermes_home"`
	Began      float64 `json:"began"` // seconds since 1970
}

// shellIdentity is who a command is that the SDKs run: a login shell.
func (s *subject) shellIdentity(ctx context.Context) (identity, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	mark := rand.Text()
	out, said := &answer.Buffer{Left: saidBytes}, &answer.Buffer{Left: saidBytes}
	cmd := envd.Shell(fmt.Sprintf(`builtin printf '%%s\0' %s "$UID" "$HOME" "${HERMES_HOME-}"`, mark))
	cmd.KillOnCancel = true
	exit, err := s.service.Run(ctx, cmd, nil, envd.Output{Stdout: out, Stderr: said})
	if err != nil || !exit.OK() {
		return identity{}, fmt.Errorf("running a login shell: %s %s: %w", exit, lastLine(said.String()), err)
	}
	_, after, ok := bytes.Cut(out.Bytes(), []byte(mark+"\x00")) // a profile may print before
	fields := strings.Split(string(after), "\x00")
	var got identity
	if !ok || len(fields) != 4 {
		return identity{}, fmt.Errorf("%w: a login shell printed %.100q", answer.Err, out.String())
	}
	if _, err := fmt.Sscanf(fields[0], "%d", &got.UID); err != nil {
		return identity{}, fmt.Errorf("%w: %.20q is no user id", answer.Err, fields[0])
	}
	got.Home, got.HermesHome = fields[1], fields[2]
	return got, nil
}

func (s *subject) identity(context.Context) check.Result {
	var web *identity
	if err := s.read("facts", "web", &web); err != nil {
		return unknown(err)
	}
	if web == nil {
		return failing("hermesbox sandbox logs shows what it says", "no process listens on port 9000")
	}
	shell, err := s.shell.get()
	if err != nil {
		return unknown(err)
	}
	var differ []string
	for _, pair := range []struct {
		what       string
		mine, webs string
	}{
		{"user id", fmt.Sprint(shell.UID), fmt.Sprint(web.UID)}, {"HOME", shell.Home, web.Home}, {"HERMES_HOME", shell.HermesHome, web.HermesHome},
	} {
		if pair.mine != pair.webs {
			differ = append(differ, fmt.Sprintf("%s is %.80q for a command and %.80q for the Web UI", pair.what, pair.mine, pair.webs))
		}
	}
	if len(differ) > 0 {
		return failing("see /etc/profile.d and the environment overrides: hermes would use another home than the Web UI", "%s", strings.Join(differ, "; "))
	}
	return passed("user id %d, HOME %.80q, HERMES_HOME %.80q for both", web.UID, web.Home, web.HermesHome)
}
