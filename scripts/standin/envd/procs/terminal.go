package procs

import (
	"errors"
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/process"
)

func (r *running) startTerminal(size *process.PTY_Size) error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	defer closeAll([]*os.File{slave})
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = slave, slave, slave
	r.cmd.SysProcAttr.Setsid, r.cmd.SysProcAttr.Setctty = true, true
	if err = errors.Join(unblock(master), setSize(master, size)); err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		closeAll([]*os.File{master})
		return err
	}
	r.tty, r.stdin = master, newInput(master, "tty")
	r.sources = []source{{master, terminal}}
	return nil
}

func (r *running) resize(size *process.PTY_Size) error {
	if r.tty == nil {
		return errResize
	}
	return setSize(r.tty, size)
}

// unblock makes deadlines work: the pty package leaves the master in blocking mode. Its Setsize would do
// so again, hence our own.
func unblock(master *os.File) error {
	return control(master, "opening terminal", func(fd int) error { return unix.SetNonblock(fd, true) })
}

func setSize(master *os.File, size *process.PTY_Size) error {
	return control(master, "error resizing tty", func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(size.GetCols()), Row: uint16(size.GetRows())})
	})
}

func control(f *os.File, doing string, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if outer := conn.Control(func(fd uintptr) { err = do(int(fd)) }); outer != nil {
		err = outer
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
