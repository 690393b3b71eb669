package launch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Rlimit is a limit of setrlimit(2), in its units. Either part may be Same.
type Rlimit struct {
	Resource   int // RLIMIT_...
	Soft, Hard uint64
}

// Same, as a part of a limit, leaves that as it is for the supervisor.
const Same uint64 = math.MaxUint64 - 1

// forking guards the limits of this process: they are those of all its threads, and
// what is forked while a job's are in force has them too.
var forking sync.RWMutex

// fork starts the command under the limits, nice value and processors of the job. It
// has to be called on a thread of its own, which is not to be used for anything else
// afterwards if bent is true.
//
// A process that is forked has the limits of this one, and the nice value and the
// processors of the thread that forks it. So the thread takes these on before, and this
// process the soft limits, which are put back as soon as the job is there. Four are not
// for a process that has other things to do meanwhile, or not Go's way: see afterwards.
// These, and all hard limits, are set on the job's process while it stands still, before
// its first instruction: it asks to be traced for that, and is let go. Where nobody may
// trace, and for a program that takes on other rights, which it would not get when it is
// traced, they come a moment later, when it may have run already.
func (j Job) fork(cmd *exec.Cmd) (bent bool, err error) {
	if bent, err = j.bend(); err != nil {
		return bent, err
	}
	limits := j.limits()
	if len(limits) == 0 {
		forking.RLock()
		defer forking.RUnlock()
		return bent, cmd.Start()
	}
	restore, err := lower(limits)
	if err == nil {
		err = startStill(cmd)
	}
	restore()
	if err != nil {
		return bent, err
	}
	pid := cmd.Process.Pid
	if cmd.SysProcAttr.Ptrace {
		awaitStop(pid)
		defer unix.PtraceDetach(pid)
	}
	if err = j.settle(pid, limits); err != nil {
		unix.Kill(-pid, unix.SIGKILL) // with what it may have started by now
		cmd.Wait()
	}
	return bent, err
}

// startStill starts a command that stops before its first instruction, if that can be
// done: then Ptrace is set.
func startStill(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Ptrace = !takesRights(cmd.Path)
	if err := cmd.Start(); !cmd.SysProcAttr.Ptrace || !errors.Is(err, unix.EPERM) {
		return err
	}
	cmd.SysProcAttr.Ptrace = false
	return cmd.Start()
}

// takesRights tells whether a program has other rights than who starts it.
func takesRights(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return true
	}
	size, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && size > 0
}

// awaitStop waits until a process that we trace, as the same thread, stands still, which
// it does by itself soon, or has been killed. Its limits before are not its last: the
// kernel sets that of the stack once more when it has loaded a program. Nobody waits
// for its change of state, which somebody else who reaps children might have seen first.
func awaitStop(pid int) {
	for wait := time.Microsecond; ; wait = min(2*wait, time.Millisecond) {
		if _, err := unix.PtraceGetEventMsg(pid); err != unix.ESRCH {
			return
		}
		var ended unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD || ended.Signo != 0 {
			return
		}
		time.Sleep(wait)
	}
}

// bend gives the calling thread, and no other, the nice value and the processors of
// the job.
func (j Job) bend() (bent bool, err error) {
	if nice := j.Nice; nice != 0 {
		bent = true
		if left, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && os.Geteuid() != 0 {
			nice = max(nice, 20-left) // as the system call has it; only root takes more than it had
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, min(max(nice, -20), 19)); err != nil {
			return bent, startError(HoldStart, fmt.Sprintf("nice value %d", nice), err)
		}
	}
	if len(j.CPUs) == 0 {
		return bent, nil
	}
	var set unix.CPUSet
	for _, cpu := range j.CPUs {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return true, startError(HoldStart, "processors "+processors(j.CPUs), err)
	}
	return true, nil
}

func processors(cpus []int) string {
	var names []string
	for _, cpu := range cpus {
		names = append(names, strconv.Itoa(cpu))
	}
	return strings.Join(names, ",")
}

// limits returns the job's limits, one for each resource, sorted.
func (j Job) limits() []Rlimit {
	all := slices.Clone(j.Limits)
	if j.Core >= 0 {
		all = append(all, Rlimit{unix.RLIMIT_CORE, uint64(j.Core), uint64(j.Core)})
	}
	slices.SortStableFunc(all, func(a, b Rlimit) int { return cmp.Compare(a.Resource, b.Resource) })
	var one []Rlimit
	for _, l := range all {
		if n := len(one); n > 0 && one[n-1].Resource == l.Resource {
			one[n-1].Soft, one[n-1].Hard = lowest(one[n-1].Soft, l.Soft), lowest(one[n-1].Hard, l.Hard)
			continue
		}
		one = append(one, l)
	}
	return one
}

// lowest returns the lower of two parts of limits.
func lowest(a, b uint64) uint64 {
	switch {
	case a == Same:
		return b
	case b == Same:
		return a
	}
	return min(a, b)
}

// over returns the limit as it is to be for a process that has had now.
func (l Rlimit) over(now unix.Rlimit) unix.Rlimit {
	next := now
	if l.Hard != Same {
		next.Max = l.Hard
	}
	if l.Soft != Same {
		next.Cur = l.Soft
	}
	next.Cur = min(next.Cur, next.Max)
	return next
}

// afterwards are the limits that are not set before the fork. This process could not
// get memory nor write files meanwhile; and the most open files Go gives to its children
// as they once were, unless this process sets them, and then as it does for ever.
var afterwards = []int{unix.RLIMIT_AS, unix.RLIMIT_DATA, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE}

// lower sets soft limits of this process, and returns what puts them back. Until
// then nobody else forks; it has to be called in any case.
func lower(limits []Rlimit) (restore func(), err error) {
	forking.Lock()
	var before []Rlimit
	restore = func() {
		for _, l := range before {
			unix.Prlimit(0, l.Resource, &unix.Rlimit{Cur: l.Soft, Max: l.Hard}, nil)
		}
		forking.Unlock()
	}
	for _, l := range limits {
		if slices.Contains(afterwards, l.Resource) {
			continue
		}
		var now unix.Rlimit
		if err = unix.Prlimit(0, l.Resource, nil, &now); err != nil {
			return restore, limitError(l, err)
		}
		before = append(before, Rlimit{l.Resource, now.Cur, now.Max})
		// A soft limit above our hard one has to wait for the job's process.
		next := unix.Rlimit{Cur: min(l.over(now).Cur, now.Max), Max: now.Max}
		if err = unix.Prlimit(0, l.Resource, &next, nil); err != nil {
			return restore, limitError(l, err)
		}
	}
	return restore, nil
}

// settle gives a process of the job, which was just started, its limits.
func (j Job) settle(pid int, limits []Rlimit) error {
	all := func() error {
		for _, l := range limits {
			var now unix.Rlimit
			err := unix.Prlimit(pid, l.Resource, nil, &now)
			if err == nil {
				err = setLimit(pid, l.Resource, l.over(now), now)
			}
			if err != nil && !errors.Is(err, unix.EPERM) {
				return limitError(l, err)
			}
			// A program that has taken on other rights is no longer ours to limit.
		}
		return nil
	}
	if j.Account.Other() && !mayLimit(pid) {
		return j.Account.user().DoToProcesses(all)
	}
	return all()
}

// mayLimit tells whether the limits of a process are for us to set, as we are. Where they
// are not that takes its user's rights, and who has these may be sent signals by the user.
func mayLimit(pid int) bool {
	var now unix.Rlimit
	return unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &now) != unix.EPERM
}

// setLimit sets a limit of a process, 0 for this one, which has been now. What it is not
// for us to raise stays as low as it is. The most files that may be open has no
// "unlimited".
func setLimit(pid, resource int, to, now unix.Rlimit) error {
	if resource == unix.RLIMIT_NOFILE {
		most := mostFiles()
		to.Cur, to.Max = min(to.Cur, most), min(to.Max, most)
	}
	err := unix.Prlimit(pid, resource, &to, nil)
	if errors.Is(err, unix.EPERM) && to.Max > now.Max {
		to.Cur, to.Max = min(to.Cur, now.Max), now.Max
		err = unix.Prlimit(pid, resource, &to, nil)
	}
	return err
}

func mostFiles() uint64 {
	b, _ := os.ReadFile("/proc/sys/fs/nr_open")
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 1 << 20 // the kernel's own default
	}
	return n
}

func limitError(l Rlimit, err error) *StartError {
	what := strconv.Itoa(l.Resource)
	for name, it := range items {
		if it.resource == l.Resource {
			what = name // there is one
		}
	}
	return startError(HoldStart, "limit of "+what, err)
}
