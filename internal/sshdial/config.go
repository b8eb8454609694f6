package sshdial

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// systemConfig is read after the user's file, as OpenSSH does.
const systemConfig = "/etc/ssh/ssh_config"

// configure reads what ssh_config says of a target.
func (d *Dialer) configure(t Target) (*settings, error) {
	me := d.localUser()
	r := &configReader{host: t.Host, home: me.home, opts: set{}}
	dir := filepath.Join(me.home, ".ssh")
	if d.ConfigFile != "" {
		if err := r.file(configFile{path: d.ConfigFile, dir: dir}, true); err != nil {
			return nil, err
		}
		return d.settle(t, r.opts, me)
	}
	if err := r.file(configFile{path: filepath.Join(dir, "config"), dir: dir, owned: true}, false); err != nil {
		return nil, err
	}
	if err := r.file(configFile{path: systemConfig, dir: filepath.Dir(systemConfig), system: true}, false); err != nil {
		return nil, err
	}
	return d.settle(t, r.opts, me)
}

// file reads a file of its own right; one that is not there says nothing,
// unless it must be.
func (r *configReader) file(f configFile, must bool) error {
	err := r.read(f, true)
	var unreadable *fileError
	if !errors.As(err, &unreadable) {
		return err
	}
	if !must && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &ConfigError{File: f.path, Reason: "it cannot be read: " + reasonOf(unreadable.err)}
}

// HostName is the host that a target leads to, as ssh_config has it; nobody is
// asked. Errors are *TargetError and *ConfigError.
func (d *Dialer) HostName(target string) (string, error) {
	t, err := ParseTarget(target)
	if err != nil {
		return "", err
	}
	s, err := d.configure(t)
	if err != nil {
		return "", err
	}
	return s.host, nil
}
