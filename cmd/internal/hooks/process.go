package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/clean"
	"fairspool/lib/launch"
)

// process is a command that runs.
type process struct {
	*exec.Cmd
	pid   int
	ticks uint64
	said  chan string // its last line, at the end of its output
	read  *os.File
}

// accountOf returns the account that a command runs as. A process that is not root's runs commands
// of its own user alone: others could act as that user through it.
func accountOf(o *Order, nobody string) (launch.Account, error) {
	if !o.AsOwner {
		if served, is := asuser.Served(); is {
			return launch.Account{Name: served.Name, Home: served.Home, UID: served.UID, GID: served.GID, Groups: served.Groups}, nil
		}
		return launch.CurrentAccount(), nil
	}
	a, err := launch.AccountOf(o.Owner, nobody)
	if err == nil && !asuser.Privileged() && a.Name != o.Owner {
		err = fmt.Errorf("only root's starter could run it as %s", clean.Line(o.Owner))
	}
	return a, err
}

// start starts the command of a task.
func start(t *task, nobody string) (*process, error) {
	account, err := accountOf(t.Order, nobody)
	if err != nil {
		return nil, err
	}
	ad, err := memory(t.adOf(t.proc))
	if err != nil {
		return nil, err
	}
	defer ad.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	c := &exec.Cmd{
		Path: t.Words[0], Args: t.Words, Dir: "/", Stdin: ad, Stdout: write, Stderr: write,
		Env: []string{
			"PATH=" + asuser.Path, "HOME=" + account.Home, "USER=" + account.Name, "LOGNAME=" + account.Name,
			"FAIRSPOOL_EVENT=" + t.Kind.String(), "FAIRSPOOL_JOB=" + t.job().String(), "FAIRSPOOL_OWNER=" + t.Owner,
			"FAIRSPOOL_TIME=" + t.At.Format(time.RFC3339),
		},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	_, serves := asuser.Served()
	if account.Other() || serves {
		c.SysProcAttr.Credential = asuser.User{UID: account.UID, GID: account.GID, Groups: account.Groups}.Credential()
	}
	if e := asuser.Root(func() { err = c.Start() }); e != nil {
		err = e
	}
	if err != nil {
		read.Close()
		return nil, plain(err)
	}
	p := &process{Cmd: c, pid: c.Process.Pid, ticks: ticksOf(c.Process.Pid), said: make(chan string, 1), read: read}
	go p.listen()
	return p, nil
}

// plain returns an error without the program's path, which stands in the message already.
func plain(err error) error {
	var of *os.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// memory returns a file in memory with a text that cannot be changed, to be read from its beginning. Unlike a pipe it
// has all of the text when this process is killed.
func memory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("ad", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "ad")
	_, err = f.Write(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// listen reads the command's output, and keeps the last line that is not empty.
func (p *process) listen() {
	const mostKept = 4 << 10
	var kept []byte
	b := make([]byte, mostKept)
	for {
		n, err := p.read.Read(b)
		kept = append(kept, b[:n]...)
		kept = kept[max(len(kept)-mostKept, 0):]
		if err != nil {
			break
		}
	}
	kept = bytes.TrimSpace(kept)
	p.said <- clean.Line(string(kept[bytes.LastIndexByte(kept, '\n')+1:]))
}

func tookLonger(than time.Duration) error {
	return fmt.Errorf("takes longer than %v s, killed (EVENT_COMMAND_TIMEOUT)", than.Seconds())
}

// wait waits for the command, and kills its process group when it has ended or its time is over. The error is one
// line.
func (p *process) wait(timeout time.Duration) error {
	var mu sync.Mutex
	reaped, late := false, false
	timer := time.AfterFunc(timeout, func() {
		mu.Lock()
		defer mu.Unlock()
		if !reaped { // no other process can have its number
			late = true
			kill(p.pid)
		}
	})
	for unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	mu.Lock()
	kill(p.pid) // its background processes
	err := p.Wait()
	reaped = true
	mu.Unlock()
	timer.Stop()
	p.read.SetReadDeadline(time.Now().Add(time.Second)) // processes that have left the group may keep the pipe open
	said := <-p.said
	p.read.Close()
	switch {
	case late:
		return tookLonger(timeout)
	case err != nil && said != "":
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// kill kills a process and those of its group, with root's rights if this process has them.
func kill(pid int) { asuser.Root(func() { syscall.Kill(-pid, syscall.SIGKILL) }) }
