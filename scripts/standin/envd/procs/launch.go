package procs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"syscall"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/account"
	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// wrapper runs the command: as in the real service a missing one is therefore no failed start but exit
// 127 with nice's words. The first line makes the kernel pick the command before the service when
// memory runs out; where that is forbidden it does not matter.
const wrapper = `echo 100 2>/dev/null >/proc/$$/oom_score_adj
exec /usr/bin/nice -n 0 "$@"`

// launch starts a process as u. The first listener is there before the first output.
func (s *Service) launch(u *user.User, msg *process.StartRequest) (*running, *listener, error) {
	cmd, err := s.command(u, msg.GetProcess())
	if err != nil {
		return nil, nil, err
	}
	r := newRunning(cmd, msg)
	first := r.out.listen()
	if err := r.start(msg); err != nil {
		first.leave()
		text := strings.Join(append([]string{msg.GetProcess().GetCmd()}, msg.GetProcess().GetArgs()...), " ")
		return nil, nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("error starting process '%s': %w", text, err))
	}
	s.table.add(r)
	go func() {
		end := r.wait()
		s.table.retire(r, end)
		r.out.finish(end)
	}()
	return r, first, nil
}

func (s *Service) command(u *user.User, config *process.ProcessConfig) (*exec.Cmd, error) {
	dir, err := account.Resolve(config.GetCwd(), u, s.settings.Workdir())
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("cwd '%s' does not exist", dir))
	}
	args := append([]string{"-c", wrapper, "--", config.GetCmd()}, config.GetArgs()...)
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx // the process outlives the request that starts it
	cmd.Dir = dir
	cmd.Env = environment(u, s.settings.Env(), config.GetEnvs())
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	cmd.SysProcAttr.Credential, err = credential(u)
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	return cmd, nil
}

// environment: of a name given twice the later value wins.
func environment(u *user.User, sets ...map[string]string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username}
	for _, set := range sets {
		for name, value := range set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// credential is nil where the service itself is that user and cannot become another.
func credential(u *user.User) (*syscall.Credential, error) {
	uid, gid, err := account.IDs(u)
	if err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 && os.Geteuid() == uid {
		return nil, nil
	}
	groups, err := account.Groups(u)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: groups}, nil
}

func (r *running) start(msg *process.StartRequest) error {
	if msg.Pty != nil {
		return r.startTerminal(msg.GetPty().GetSize())
	}
	return r.startPipes(msg.Stdin == nil || msg.GetStdin())
}

// startPipes gives the process pipes of our own: with those of os/exec, Wait would wait for their
// other holders too.
func (r *running) startPipes(stdin bool) (err error) {
	var theirs, ours []*os.File
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(ours)
		}
	}()
	pipe := func() (*os.File, *os.File, error) {
		read, write, err := os.Pipe()
		return read, write, err
	}
	outRead, outWrite, err := pipe()
	if err != nil {
		return err
	}
	theirs, ours = append(theirs, outWrite), append(ours, outRead)
	errRead, errWrite, err := pipe()
	if err != nil {
		return err
	}
	theirs, ours = append(theirs, errWrite), append(ours, errRead)
	r.cmd.Stdout, r.cmd.Stderr = outWrite, errWrite
	r.sources = []source{{outRead, stdout}, {errRead, stderr}}
	if stdin {
		inRead, inWrite, err := pipe()
		if err != nil {
			return err
		}
		theirs, ours = append(theirs, inRead), append(ours, inWrite)
		r.cmd.Stdin, r.stdin = inRead, newInput(inWrite, "stdin")
	}
	return r.cmd.Start()
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // pipes without a reader or writer of ours
	}
}
