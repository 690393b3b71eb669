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
)

// Process is a running job.
type Process struct {
	cmd   *exec.Cmd
	mu    sync.Mutex // guards gone, and a signal against the number's reuse
	gone  bool       // the process has been reaped
	done  chan struct{}
	ended Ended // set before done is closed
}

// Ended says how a job's own process ended and what it used, together with
// those of its children that it waited for.
type Ended struct {
	Code   int // exit code, 0 to 255; 0 when a signal ended it
	Signal int // the signal that ended it; 0 when it exited
	// Wall is how long it ran, by the machine's clock.
	Wall time.Duration
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
// processes as file descriptor 3: the open lock file of the claim (see the
// package comment).
//
// Every failure is a *StartError; then nothing runs, though output files may
// have been made.
func Start(job Job, held *os.File) (*Process, error) {
	cmd, err := job.check()
	if err != nil {
		return nil, err
	}
	files, err := job.open(cmd)
	if err != nil {
		return nil, err
	}
	defer files.close()
	p := &Process{done: make(chan struct{}), cmd: &exec.Cmd{
		Path:   job.Cmd,
		Args:   append([]string{job.Cmd}, job.Args...),
		Env:    append([]string{}, job.Env...), // never nil: that would mean ours
		Dir:    job.Dir,
		Stdin:  files.in,
		Stdout: files.out,
		Stderr: files.err,
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:    true,
			Pdeathsig: syscall.SIGKILL,
		},
	}}
	if held != nil {
		p.cmd.ExtraFiles = []*os.File{held}
	}
	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		return nil, execError(job.Cmd, err)
	}
	return p, nil
}

// execError words a failed exec. Directory and executable were there a moment
// ago, so a file that is missing now is the one that the executable needs.
func execError(path string, err error) *StartError {
	if errors.Is(err, unix.ENOENT) {
		return &StartError{Reason: "executable " + path + ": the interpreter that it names is missing"}
	}
	return startError("executable "+path, err)
}

// live starts the job, stays with it and reaps it, all on one thread: the
// kernel kills the job when the thread that started it dies.
func (p *Process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The job inherits the thread's mask, and that may be our caller's. It
	// would never see a signal that is blocked there.
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
	begun := time.Now()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.awaitExit()
	wall := time.Since(begun)

	// The number of the process names its group too, and stays taken until
	// the process is reaped: kill the rest of the group before that.
	p.mu.Lock()
	unix.Kill(-p.PID(), unix.SIGKILL)
	p.gone = true
	p.cmd.Wait()
	p.mu.Unlock()
	p.ended = endedFrom(p.cmd.ProcessState, wall)
	close(p.done)
}

// awaitExit waits until the process has ended, and leaves it to be reaped.
func (p *Process) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func endedFrom(s *os.ProcessState, wall time.Duration) Ended {
	e := Ended{Wall: wall, UserCPU: s.UserTime(), SysCPU: s.SystemTime()}
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = int(status.Signal())
	} else {
		e.Code = s.ExitCode()
	}
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		e.MaxRSSKB = int64(usage.Maxrss) // Linux counts in KB
		e.IOBytes = ioBytes(usage)
	}
	return e
}

// ioBytes returns the blocks that were read and written, which Linux counts in
// units of 512 bytes whatever the disk's are.
func ioBytes(u *syscall.Rusage) int64 { return (int64(u.Inblock) + int64(u.Oublock)) * 512 }

// PID returns the process id of the job's own process, which is also the
// number of its process group and session.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Wait waits for the job's own process to end and says how it did. By then
// the rest of its process group has been sent SIGKILL. It may be called by
// several at once and any number of times.
func (p *Process) Wait() Ended {
	<-p.done
	return p.ended
}

// Signal sends a signal to all processes of the job's group. When the job's
// own process has ended nothing happens, and the error is os.ErrProcessDone.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return os.ErrProcessDone
	}
	return unix.Kill(-p.PID(), sig)
}

// Kill ends all processes of the job's group at once. Errors are as for
// Signal.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }
