package sshdial

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func settleHost(s *settings, opts set, _ local) error {
	s.host = s.alias
	o, ok := opts.first("hostname")
	if !ok {
		return nil
	}
	host, err := expandTokens(o.args[0], map[byte]string{'h': s.alias})
	if err != nil {
		return o.fault(err.Error())
	}
	if reason := (Target{Host: host}).fault(); reason != "" {
		return o.fault(reason)
	}
	s.host = host
	return nil
}

func settleBind(s *settings, opts set, _ local) error {
	o, ok := opts.first("bindaddress")
	if !ok {
		return nil
	}
	addr, err := netip.ParseAddr(o.args[0])
	if err != nil {
		return o.fault("only an IP address is taken")
	}
	s.bind = addr
	return nil
}

func settleKeys(s *settings, opts set, me local) error {
	var err error
	files := opts["identityfile"]
	s.explicit = len(files) > 0
	if s.identities, err = s.paths(files, me); err != nil {
		return err
	}
	switch {
	case !s.explicit:
		for _, name := range []string{"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"} {
			s.identities = append(s.identities, filepath.Join(me.home, ".ssh", name))
		}
	case len(files) == 1 && strings.EqualFold(files[0].args[0], "none"):
		s.identities = nil
	}
	s.certificates, err = s.paths(opts["certificatefile"], me)
	return err
}

// settleAgent follows IdentityAgent: none, SSH_AUTH_SOCK, $NAME or a path.
func settleAgent(s *settings, opts set, me local) error {
	s.agent = me.getenv("SSH_AUTH_SOCK")
	o, ok := opts.first("identityagent")
	if !ok {
		return nil
	}
	v := o.args[0]
	name, isVariable := strings.CutPrefix(v, "$")
	switch {
	case v == "none":
		s.agent = ""
	case v == "SSH_AUTH_SOCK":
	case isVariable && !strings.HasPrefix(name, "{"):
		s.agent = me.getenv(name)
	default:
		path, err := s.path(v, me)
		if err != nil {
			return o.fault(err.Error())
		}
		s.agent = path
	}
	return nil
}

func settleKnownHosts(s *settings, opts set, me local) error {
	user := []string{filepath.Join(me.home, ".ssh/known_hosts"), filepath.Join(me.home, ".ssh/known_hosts2")}
	system := []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
	user, err := s.knownHostsFiles(opts, "userknownhostsfile", user, me)
	if err != nil {
		return err
	}
	system, err = s.knownHostsFiles(opts, "globalknownhostsfile", system, me)
	if err != nil {
		return err
	}
	s.knownHosts = slices.Concat(user, system)
	if o, ok := opts.first("stricthostkeychecking"); ok && !slices.Contains([]string{"yes", "true", "ask"}, strings.ToLower(o.args[0])) {
		s.lax = o.file + ":" + strconv.Itoa(o.line)
	}
	return nil
}

func (s *settings) knownHostsFiles(opts set, name string, standard []string, me local) ([]string, error) {
	o, ok := opts.first(name)
	if !ok {
		return standard, nil
	}
	if len(o.args) == 1 && strings.EqualFold(o.args[0], "none") {
		return nil, nil
	}
	var paths []string
	for _, arg := range o.args {
		path, err := s.path(arg, me)
		if err != nil {
			return nil, o.fault(err.Error())
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (s *settings) paths(opts []option, me local) ([]string, error) {
	var paths []string
	for _, o := range opts {
		path, err := s.path(o.args[0], me)
		if err != nil {
			return nil, o.fault(err.Error())
		}
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
