package sshdial

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// local is the user and machine that connect.
type local struct {
	user, home, uid string
	getenv          func(string) string
}

// localUser asks the system, as OpenSSH does; HOME goes before the system's
// answer, and the variables stand in where it has none.
func (d *Dialer) localUser() local {
	me := local{getenv: d.getenv(), uid: strconv.Itoa(os.Getuid())}
	me.home, me.user = me.getenv("HOME"), me.getenv("USER")
	u, err := user.Current()
	if err != nil {
		return me
	}
	me.user = u.Username
	if me.home == "" {
		me.home = u.HomeDir
	}
	return me
}

func (d *Dialer) getenv() func(string) string {
	if d.Getenv != nil {
		return d.Getenv
	}
	return func(string) string { return "" }
}

// path expands ~, %tokens and ${VARIABLES} in the name of a file.
func (s *settings) path(name string, me local) (string, error) {
	name, err := expandHome(name, me.home)
	if err != nil {
		return "", err
	}
	if name, err = expandTokens(name, s.tokens(me)); err != nil {
		return "", err
	}
	return expandVariables(name, me.getenv)
}

func (s *settings) tokens(me local) map[byte]string {
	full, _ := os.Hostname() // %l and %L are then empty, as for OpenSSH
	short, _, _ := strings.Cut(full, ".")
	alias := s.keyAlias
	if alias == "" {
		alias = s.alias
	}
	return map[byte]string{
		'd': me.home, 'h': s.host, 'i': me.uid, 'k': alias, 'L': short, 'l': full,
		'n': s.alias, 'p': strconv.Itoa(s.port), 'r': s.user, 'u': me.user,
	}
}

// expandHome replaces a leading ~ or ~user.
func expandHome(path, home string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok {
		return path, nil
	}
	name, rest, _ := strings.Cut(rest, "/")
	if name != "" {
		u, err := user.Lookup(name)
		if err != nil {
			return "", fmt.Errorf("no such user %q", name)
		}
		home = u.HomeDir
	}
	return filepath.Join(home, rest), nil
}

func expandTokens(s string, tokens map[byte]string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("%q ends in a lone %%", s)
		}
		value, ok := tokens[s[i]]
		switch {
		case s[i] == '%':
			b.WriteByte('%')
		case ok:
			b.WriteString(value)
		default:
			return "", fmt.Errorf("unknown token %q in %q", s[i-1:i+1], s)
		}
	}
	return b.String(), nil
}

func expandVariables(s string, getenv func(string) string) (string, error) {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "${")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		name, rest, closed := strings.Cut(after, "}")
		value := getenv(name)
		if !closed || name == "" || value == "" {
			return "", fmt.Errorf("the variable ${%s} is not set", name)
		}
		b.WriteString(value)
		s = rest
	}
}

// parseSeconds reads a time as sshd_config(5) writes it: 90, 1m30s, none.
func parseSeconds(s string) (time.Duration, bool) {
	if strings.EqualFold(s, "none") {
		return 0, true
	}
	units := map[byte]int64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}
	var total int64
	for s != "" {
		digits := strings.TrimLeft(s, "0123456789")
		n, err := strconv.ParseInt(s[:len(s)-len(digits)], 10, 32)
		if err != nil {
			return 0, false
		}
		unit := int64(1)
		if s = digits; s != "" {
			if unit = units[s[0]|0x20]; unit == 0 {
				return 0, false
			}
			s = s[1:]
		}
		if total += n * unit; total > 1<<31 {
			return 0, false
		}
	}
	return time.Duration(total) * time.Second, true
}
