package verify

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

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

// identityScript tells what the programs that a shell starts are given; what it
// keeps to itself is not among that.
const identityScript = `builtin printf '%%s\0' %s; /bin/cat /proc/self/status; builtin printf '\0'; exec /bin/cat /proc/self/environ`

// shellIdentity is who a command is that the SDKs run: a login shell.
func (s *subject) shellIdentity(ctx context.Context) (identity, error) {
	ctx, cancel := context.WithTimeout(ctx, shellLimit)
	defer cancel()
	mark := rand.Text()
	out, said := &answer.Buffer{Left: saidBytes}, &answer.Buffer{Left: saidBytes}
	cmd := envd.Shell(fmt.Sprintf(identityScript, mark))
	cmd.KillOnCancel = true
	exit, err := s.service.Run(ctx, cmd, nil, envd.Output{Stdout: out, Stderr: said})
	switch {
	case err != nil:
		return identity{}, fmt.Errorf("running a login shell: %w", err)
	case !exit.OK():
		return identity{}, fmt.Errorf("running a login shell: %s: %s", exit, lastLine(said.String()))
	}
	return parseIdentity(out.String(), mark)
}

// shellLimit is how long a login shell may take, with what the profile does.
const shellLimit = time.Minute

var uidLine = regexp.MustCompile(`(?m)^Uid:\t(\d+)\t`)

// parseIdentity reads what identityScript printed; a profile may print before.
func parseIdentity(out, mark string) (identity, error) {
	var got identity
	_, after, ok := strings.Cut(out, mark+"\x00")
	status, environ, also := strings.Cut(after, "\x00")
	uid := uidLine.FindStringSubmatch(status)
	if !ok || !also || uid == nil {
		return got, fmt.Errorf("%w: a login shell says something else", answer.Err)
	}
	var err error
	if got.UID, err = strconv.Atoi(uid[1]); err != nil {
		return got, fmt.Errorf("%w: %w", answer.Err, err)
	}
	for pair := range strings.SplitSeq(environ, "\x00") {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "HOME":
			got.Home = value
		case "HERMES_HOME":
			got.HermesHome = value
		}
	}
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
