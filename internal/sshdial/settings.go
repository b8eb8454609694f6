package sshdial

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are how to connect to one host, of ssh_config and the target.
type settings struct {
	alias, host, user string
	port              int
	jump              string // "" is none
	jumpOption        option
	keyAlias          string

	identities, certificates []string
	// explicit: identities were configured, so a missing one is told of.
	explicit, identitiesOnly, batch bool
	agent                           string // socket; "" is none

	knownHosts []string
	lax        string // where StrictHostKeyChecking is less than strict

	algorithms algorithms

	network       string // tcp, tcp4, tcp6
	bind          netip.Addr
	timeout       time.Duration
	aliveInterval time.Duration
	aliveCount    int
}

// name is what known_hosts calls the host.
func (s *settings) name() string {
	host := strings.ToLower(s.host)
	switch {
	case s.keyAlias != "":
		return s.keyAlias
	case s.port != 22:
		return "[" + host + "]:" + strconv.Itoa(s.port)
	}
	return host
}

// set gives the options of a directive.
type set map[string][]option

func (s set) first(name string) (option, bool) {
	if all := s[name]; len(all) > 0 {
		return all[0], true
	}
	return option{}, false
}

func (s set) value(name string) string {
	o, ok := s.first(name)
	if !ok {
		return ""
	}
	return o.args[0]
}

func (s set) flag(name string) bool {
	v := strings.ToLower(s.value(name))
	return v == "yes" || v == "true"
}

// settle makes settings of what was read for a target.
func (d *Dialer) settle(t Target, opts set, me local) (*settings, error) {
	if err := opts.refuse(); err != nil {
		return nil, err
	}
	s := &settings{
		alias: t.Host, port: t.Port, user: t.User, batch: opts.flag("batchmode"), identitiesOnly: opts.flag("identitiesonly"),
		keyAlias: strings.ToLower(opts.value("hostkeyalias")), network: network(opts), jump: opts.value("proxyjump"),
	}
	s.jumpOption, _ = opts.first("proxyjump")
	if strings.EqualFold(s.jump, "none") {
		s.jump = ""
	}
	if s.port == 0 {
		s.port = 22
		if v := opts.value("port"); v != "" {
			s.port, _ = parsePort(v) // checked when it was read
		}
	}
	if s.user == "" {
		s.user = opts.value("user")
	}
	if s.user == "" {
		s.user = me.user
	}
	d.settleTimes(s, opts)
	for _, step := range []func(*settings, set, local) error{settleHost, settleBind, settleKeys, settleAgent, settleKnownHosts, settleAlgorithms} {
		if err := step(s, opts, me); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// refuse finds the first directive that applies and is not followed.
func (s set) refuse() error {
	var found []option
	for name, opts := range s {
		if d, _ := lookUp(name); d.changes(opts[0].args) {
			found = append(found, opts[0])
		}
	}
	if len(found) == 0 {
		return nil
	}
	first := slices.MinFunc(found, func(a, b option) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.line - b.line
	})
	return first.unsupported()
}

func network(opts set) string {
	switch strings.ToLower(opts.value("addressfamily")) {
	case "inet":
		return "tcp4"
	case "inet6":
		return "tcp6"
	}
	return "tcp"
}

func (d *Dialer) settleTimes(s *settings, opts set) {
	s.timeout = orDefault(d.Timeout, defaultTimeout)
	if v := opts.value("connecttimeout"); v != "" {
		if seconds, _ := parseSeconds(v); seconds > 0 {
			s.timeout = seconds
		}
	}
	s.aliveInterval, s.aliveCount = orDefault(d.KeepAlive, defaultKeepAlive), 3
	if v := opts.value("serveraliveinterval"); v != "" {
		s.aliveInterval, _ = parseSeconds(v)
	}
	if v := opts.value("serveralivecountmax"); v != "" {
		s.aliveCount, _ = strconv.Atoi(v)
	}
}

func orDefault(d, standard time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return standard
}
