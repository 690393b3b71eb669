package launch

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/jobargs"
)

// Process is a running job.
type Process struct {
	pid   int
	mu    sync.Mutex // guards gone, and a signal against the number's reuse
	gone  bool       // the process has been reaped
	done  chan struct{}
	ended Ended // set before done is closed
}

// Cell is what keeps the processes of a job together.
type Cell interface {
	// FD returns the open directory of a cgroup (v2) that a job is started in; false
	// when there is none.
	FD() (fd int, ok bool)
}

// Ended says how a job's own process ended and what it used, together with
// those of its children that it waited for.
type Ended struct {
	Code   int           // exit code, 0 to 255; 0 when a signal ended it
	Signal int           // the signal that ended it; 0 when it exited
	Core   bool          // it left a core file
	At     time.Time     // when the kernel reported the end, with a monotonic reading
	Wall   time.Duration // how long it ran
	// UserCPU and SysCPU are the processor time.
	UserCPU, SysCPU time.Duration
	// MaxRSSKB is the largest resident set of one process, in KB. The kernel
	// counts from the fork on, so it is never less than what the supervisor
	// itself took, about 10 MB.
	MaxRSSKB int64
	// IOBytes is what was read from and written to disks, as far as the file
	// system counts it: what the page cache served is not in it.
	IOBytes int64
}

// Start runs the job. held, when not nil, is inherited by the job and all its
// processes as file descriptor 3: the open pipe of the claim (see the
// package comment).
//
// in, when not nil, is what the job is put into before its first instruction.
//
// Every failure is a *StartError; then nothing runs, though output files may
// have been made.
func Start(job Job, held *os.File, in Cell) (*Process, error) {
	var files standard
	err := job.Account.As(func() (err error) {
		files, err = job.standard()
		return err
	})
	if err != nil {
		return nil, err
	}
	defer files.close()
	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		if err := asuser.Root(func() { p.live(job, job.command(files, held, in), started) }); err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return nil, execError(job.Cmd, err)
	}
	return p, nil
}

// command returns how the system is asked to run the job.
func (j Job) command(files standard, held *os.File, in Cell) *exec.Cmd {
	cmd := &exec.Cmd{
		Path:   j.Cmd,
		Args:   append([]string{j.Cmd}, j.Args...),
		Env:    append([]string{}, j.Env...), // never nil: that would mean ours
		Dir:    j.Dir,
		Stdin:  files.in,
		Stdout: files.out,
		Stderr: files.err,
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:    true,
			Pdeathsig: syscall.SIGKILL,
		},
	}
	if j.Mark != "" {
		cmd.Env = jobargs.MergeEnv(cmd.Env, []string{j.Mark})
	}
	if held != nil {
		cmd.ExtraFiles = []*os.File{held}
	}
	if in != nil {
		cmd.SysProcAttr.CgroupFD, cmd.SysProcAttr.UseCgroupFD = in.FD()
	}
	if j.Account.Other() {
		cmd.SysProcAttr.Credential = j.Account.user().Credential()
	}
	return cmd
}

// execError words a failed exec. Directory and executable were there a moment
// ago, so a file that is missing now is the one that the executable needs.
func execError(path string, err error) *StartError {
	var refused *StartError
	if errors.As(err, &refused) {
		return refused
	}
	if errors.Is(err, unix.ENOENT) {
		return &StartError{
			Reason: "executable " + path + ": the interpreter that it names is missing",
			Code:   HoldStart, Subcode: int(unix.ENOENT),
		}
	}
	return startError(HoldStart, "executable "+path, err)
}

// live starts the job and stays with it, on one thread: the kernel kills the job when the
// thread that started it dies, if that has the rights to. A thread that was bent to the job's nice value and processors
// ends with this, and another thread waits for the job's end, as this one might see it late.
func (p *Process) live(job Job, cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	// The job inherits the thread's mask, and that may be our caller's. It
	// would never see a signal that is blocked there.
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
	begun := time.Now()
	bent, err := job.fork(cmd)
	if !bent {
		defer runtime.UnlockOSThread()
	}
	if err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	if bent {
		go p.attend(begun)
		<-p.done
	} else {
		p.attend(begun)
	}
	cmd.Process.Release()
}

// adopted returns a process of ours that was not started by Start, such as one that was
// restored. It must be a child of this process, and lead its own process group.
func adopted(pid int) *Process {
	p := &Process{pid: pid, done: make(chan struct{})}
	go p.attend(time.Now())
	return p
}

// attend stays with the process until it has ended, and reaps it.
func (p *Process) attend(begun time.Time) {
	p.awaitExit()
	at := time.Now()

	// The number of the process names its group too, and stays taken until
	// the process is reaped: kill the rest of the group before that.
	p.mu.Lock()
	p.send(unix.SIGKILL)
	p.gone = true
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		if _, err := unix.Wait4(p.pid, &status, 0, &usage); err != unix.EINTR {
			break
		}
	}
	p.mu.Unlock()
	p.ended = endedFrom(status, usage, begun, at)
	close(p.done)
}

// awaitExit waits until the process has ended, and leaves it to be reaped.
func (p *Process) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func endedFrom(status unix.WaitStatus, usage unix.Rusage, begun, at time.Time) Ended {
	e := Ended{
		At: at, Wall: at.Sub(begun), UserCPU: duration(usage.Utime), SysCPU: duration(usage.Stime),
		MaxRSSKB: int64(usage.Maxrss), // Linux counts in KB
		IOBytes:  ioBytes(&usage),
	}
	if status.Signaled() {
		e.Signal, e.Core = int(status.Signal()), status.CoreDump()
	} else {
		e.Code = status.ExitStatus()
	}
	return e
}

func duration(t unix.Timeval) time.Duration { return time.Duration(t.Nano()) }

// ioBytes returns the blocks that were read and written, which Linux counts in
// units of 512 bytes whatever the disk's are.
func ioBytes(u *unix.Rusage) int64 { return (int64(u.Inblock) + int64(u.Oublock)) * 512 }

// PID returns the process id of the job's own process, which is also the
// number of its process group and session.
func (p *Process) PID() int { return p.pid }

// Wait waits for the job's own process to end and says how it did. By then
// the rest of its process group has been sent SIGKILL. It may be called by
// several at once and any number of times.
func (p *Process) Wait() Ended {
	<-p.done
	return p.ended
}

// Signal sends a signal to all processes of the job's group, and then has those go on
// that are stopped, for they would not see it: but not after SIGSTOP and SIGTSTP, which
// are to stop them. When the job's own process has ended nothing happens, and the error
// is os.ErrProcessDone.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return os.ErrProcessDone
	}
	if err := p.send(sig); err != nil {
		return err
	}
	switch sig {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGKILL, unix.SIGCONT:
		return nil
	}
	return p.send(unix.SIGCONT)
}

// send sends a signal to all processes of the job's group.
func (p *Process) send(sig syscall.Signal) (err error) {
	if e := asuser.Root(func() { err = unix.Kill(-p.pid, sig) }); e != nil {
		return e
	}
	return err
}

// Kill ends all processes of the job's group at once. Errors are as for
// Signal.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }
