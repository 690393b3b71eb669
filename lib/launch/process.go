package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
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
	// monitor has the reports of a container's program; nil: the process is the job's own.
	monitor *os.File
}

// Cell is what keeps the processes of a job together.
type Cell interface {
	// FD returns the open directory of the cgroup (v2) in which a job is started; false
	// if there is none.
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
	// IOBytes is the traffic with disks, read and written, as far as the file system
	// counts it: reads from the page cache are not included.
	IOBytes int64
}

// Start runs the job. held, when not nil, is inherited by the job and all its
// processes as file descriptor 3: the open pipe of the claim (see the
// package comment).
//
// in, when not nil, is the cell that holds the job from before its first instruction.
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
	if job.Stdio == nil {
		defer files.close()
	}
	p := &Process{done: make(chan struct{}), monitor: job.Monitor}
	started := make(chan error)
	go func() {
		if err := asuser.Root(func() { p.live(job, job.command(files, held, in), started) }); err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return nil, execError(job.arg0(), err)
	}
	return p, nil
}

// command returns how the system is asked to run the job.
func (j Job) command(files standard, held *os.File, in Cell) *exec.Cmd {
	cmd := &exec.Cmd{
		Path:   j.Cmd,
		Args:   append([]string{j.arg0()}, j.Args...),
		Env:    append([]string{}, j.Env...), // never nil: that would mean ours
		Dir:    j.Dir,
		Stdin:  files.in,
		Stdout: files.out,
		Stderr: files.err,
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:    true,
			Pdeathsig: syscall.SIGKILL,
			Setctty:   isTerminal(j.Stdio),
		},
	}
	if j.Mark != "" {
		cmd.Env = jobargs.MergeEnv(cmd.Env, []string{j.Mark})
	}
	switch {
	case j.Monitor != nil:
		cmd.ExtraFiles = []*os.File{held, j.Monitor}
	case j.Inherited != nil:
		cmd.ExtraFiles = []*os.File{held, j.Inherited}
	case held != nil:
		cmd.ExtraFiles = []*os.File{held}
	}
	if in != nil {
		cmd.SysProcAttr.CgroupFD, cmd.SysProcAttr.UseCgroupFD = in.FD()
	}
	if j.Account.Other() && !j.AsRoot {
		cmd.SysProcAttr.Credential = j.Account.user().Credential()
	}
	return cmd
}

func isTerminal(f *os.File) bool {
	if f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

func (j Job) arg0() string { return cmp.Or(j.Arg0, j.Cmd) }

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
	var bent bool
	var err error
	promptly(func() { bent, err = job.fork(cmd) })
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

// send sends a signal to all processes of the job's group. SIGKILL goes to the process itself:
// the program that runs a container ends with the whole container.
func (p *Process) send(sig syscall.Signal) (err error) {
	if e := asuser.Root(func() {
		group := p.pid
		if inner := p.contained(); inner > 0 && sig != unix.SIGKILL {
			group = inner
		}
		err = unix.Kill(-group, sig)
	}); e != nil {
		return e
	}
	return err
}

// contained returns the process that leads the session of the container which the process runs; 0: it
// runs none, or none is there yet.
func (p *Process) contained() int {
	child := reported(p.monitor, "child-pid")
	if child > 0 && ParentOf(child) == p.pid && sessionOf(child) == child {
		return child
	}
	return 0
}

// sessionOf returns the session of a process; 0 if it is not there.
func sessionOf(pid int) int {
	session, _ := unix.Getsid(pid)
	return session
}

// Main returns the process id of the job's own program: in a container another one than PID.
func (p *Process) Main() int {
	if inner := p.contained(); inner > 0 {
		all := descent(inner)
		return all[min(1, len(all)-1)]
	}
	return p.pid
}

// Kill ends all processes of the job's group at once. Errors are as for
// Signal.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }

// Account is the user that a job runs as.
type Account struct {
	Name string // USER and LOGNAME
	Home string // HOME
	// UID, GID and Groups are the ids of the user, its group and its further groups.
	UID, GID int
	Groups   []int
	Shell    string
	limits   []Rlimit // set by the machine's administrator
	priority int      // the nice value that goes with them
}

// Other reports whether a job of this account has other rights than this process: only
// root can give it such.
func (a Account) Other() bool { return asuser.Privileged() && a.UID != 0 }

func (a Account) user() asuser.User {
	return asuser.User{Name: a.Name, UID: a.UID, GID: a.GID, Groups: a.Groups}
}

// As runs fn with the account's rights to files. It must do its work itself, for
// goroutines that it starts would not have them. When the rights cannot be had the
// error is a *StartError.
func (a Account) As(fn func() error) error {
	if !a.Other() {
		return fn()
	}
	done := false
	err := a.user().Do(func() error {
		done = true
		return fn()
	})
	if !done {
		return &StartError{Reason: err.Error()}
	}
	return err
}

// CurrentAccount returns the account of this process. A uid without an entry
// in the user database goes by its number and lives in /.
func CurrentAccount() Account {
	uid := os.Getuid()
	a := Account{Name: strconv.Itoa(uid), Home: "/", UID: uid, GID: os.Getgid()}
	a.Groups, _ = os.Getgroups()
	if u, known, err := asuser.LookUpID(uid); known && err == nil {
		a.Name, a.Home, a.Shell = u.Name, u.Home, u.Shell
	}
	return a
}

// AccountOf returns the account that a job of an owner runs as. For root it is the owner's, with the
// limits of limits.conf(5); for an owner whom the machine does not know, the user nobody
// (NOBODY_SLOT_USER), if one is named; root's account only for root's own jobs. Others can run jobs
// only as themselves. A root that serves the account of the spool runs no job of that account, of
// root, or of other system accounts. The error is a *StartError, which is Passing when a user could
// not be looked up just now.
func AccountOf(owner, nobody string) (Account, error) {
	if !asuser.Privileged() {
		return CurrentAccount(), nil
	}
	u, known, err := asuser.User{}, false, error(nil)
	if !strings.Contains(owner, "@") { // with it, a user of another pool, whatever this machine calls so
		u, known, err = asuser.LookUp(owner)
	}
	switch {
	case err != nil:
		return Account{}, &StartError{Reason: fmt.Sprintf("owner %s: %v", owner, err), Passing: true}
	case !known && nobody == "":
		return Account{}, refuse("owner %q: this machine knows no such user, and NOBODY_SLOT_USER names none to run its jobs", owner)
	case !known:
		if u, err = standIn(nobody); err != nil {
			return Account{}, err
		}
	}
	if why := asuser.Refusal(u); why != "" {
		return Account{}, refuse("owner %s: %s", u.Name, why)
	}
	return accountOf(u), nil
}

// standIn returns the user that runs the jobs of unknown owners.
func standIn(nobody string) (asuser.User, error) {
	u, known, err := asuser.LookUp(nobody)
	switch {
	case err != nil:
		return u, &StartError{Reason: fmt.Sprintf("NOBODY_SLOT_USER: %s: %v", nobody, err), Passing: true}
	case !known:
		return u, refuse("NOBODY_SLOT_USER: this machine knows no user %q", nobody)
	case u.UID == 0:
		return u, refuse("NOBODY_SLOT_USER: %q has root's rights, which are for root's own jobs", nobody)
	}
	return u, nil
}

func refuse(format string, args ...any) *StartError {
	return &StartError{Reason: fmt.Sprintf(format, args...)}
}

// accountOf returns a user's account.
func accountOf(u asuser.User) Account {
	a := Account{Name: u.Name, Home: u.Home, Shell: u.Shell, UID: u.UID, GID: u.GID, Groups: u.Groups}
	if a.Other() {
		a.limits, a.priority = conf{a, asuser.GroupID}.limits(confTexts())
	}
	return a
}

// How late a timer of a process may be (PR_SET_TIMERSLACK, prctl(2)). A process inherits this from the thread
// that starts it.
const (
	usualSlack = 50 * time.Microsecond // the default of processes
	lazySlack  = 2 * time.Millisecond
)

// Lazily calls start, which starts a supervisor, such that the supervisor's timers may be 2 ms late. Go's runtime
// checks every 20 µs on threads that wait for the kernel: in a supervisor that runs one short job after another this
// took a sixth of the processor time. The jobs have usual timers. Lazily changes nothing for a caller with unusual
// timers.
func Lazily(start func()) { withSlack(usualSlack, lazySlack, start) }

// promptly calls start, which starts a job, such that the job's timers are as usual in a supervisor started by Lazily.
func promptly(start func()) { withSlack(lazySlack, usualSlack, start) }

// withSlack calls fn on one thread with timer slack now, if the thread's slack was the given one before.
func withSlack(was, now time.Duration, fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil && time.Duration(before) == was {
		unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(now), 0, 0, 0)
		defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(was), 0, 0, 0)
	}
	fn()
}
