package procs

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

// running is one process that the service started, from its start to its end event.
type running struct {
	config *process.ProcessConfig
	tag    *string
	serial uint64 // the order of starts

	cmd     *exec.Cmd
	out     fan
	sources []source
	stdin   *input // nil: none
	tty     *os.File

	hurry     func() // ends the wait for others that hold the outputs
	hurried   chan struct{}
	over      chan struct{} // closed when the process and its outputs have ended
	forgotten chan struct{} // closed when no call finds it as a living process any more
}

func newRunning(cmd *exec.Cmd, msg *process.StartRequest) *running {
	r := &running{
		config: msg.GetProcess(), tag: msg.Tag, cmd: cmd,
		hurried: make(chan struct{}), over: make(chan struct{}), forgotten: make(chan struct{}),
	}
	if r.config == nil {
		r.config = &process.ProcessConfig{}
	}
	r.hurry = sync.OnceFunc(func() { close(r.hurried) })
	return r
}

func (r *running) pid() uint32 { return uint32(r.cmd.Process.Pid) }

// wait reaps the process, publishes its whole output and gives the end event. The outputs count until
// their last holder has closed them, unless somebody asked to hurry.
func (r *running) wait() *process.ProcessEvent {
	var pumps sync.WaitGroup
	for _, s := range r.sources {
		pumps.Go(func() { s.pump(&r.out) })
	}
	drained := make(chan struct{})
	go func() { pumps.Wait(); close(drained) }()

	err := r.cmd.Wait()
	select {
	case <-drained:
	case <-r.hurried:
		for _, s := range r.sources {
			_ = s.cut() // fails only where the pump has ended already
		}
		<-drained
	}
	r.closeFiles()
	close(r.over)
	return endEvent(r.cmd.ProcessState, err)
}

func (r *running) closeFiles() {
	for _, s := range r.sources {
		_ = s.file.Close() // a read end: nothing can be lost
	}
	if r.stdin != nil {
		_ = r.stdin.abandon()
	}
}

// endEvent words the end as os/exec does; a death by signal has exit code -1 and is not "exited".
func endEvent(state *os.ProcessState, err error) *process.ProcessEvent {
	end := &process.ProcessEvent_EndEvent{Status: state.String(), Exited: state.Exited(), ExitCode: int32(state.ExitCode())}
	if err != nil {
		text := err.Error()
		end.Error = &text
	}
	return &process.ProcessEvent{Event: &process.ProcessEvent_End{End: end}}
}

func (r *running) startEvent() *process.ProcessEvent {
	return startEvent(r.pid())
}

func startEvent(pid uint32) *process.ProcessEvent {
	return &process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: pid}}}
}

// signal reaches this one process, not its children. One that has ended but whose outputs are still
// held by others counts as signalled.
func (r *running) signal(s syscall.Signal) error {
	r.hurry()
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
