package procs

import (
	"fmt"
	"os/user"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// Run starts a shell command that no client asked for, as the default user. It is listed like others.
func (s *Service) Run(command string) error {
	u, err := user.Lookup(s.settings.User())
	if err != nil {
		return fmt.Errorf("starting %q: %w", command, err)
	}
	tag, stdin := "startCmd", false
	config := &process.ProcessConfig{Cmd: "/bin/bash", Args: []string{"-l", "-c", command}}
	_, first, err := s.launch(u, &process.StartRequest{Process: config, Tag: &tag, Stdin: &stdin})
	if err != nil {
		return err
	}
	first.leave()
	return nil
}
