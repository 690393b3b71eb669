package family

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// What keeps a memory limit.
const (
	ByCgroup = "cgroup" // the kernel
	ByWatch  = "watch"  // whoever looks at Usage
)

// Options say which family it is, and what it may use.
type Options struct {
	// Name tells the family from all others of this machine, also from earlier
	// ones. It is the name of the cgroup and the value of the mark.
	Name string
	// Base is the cgroup below which the family has its own, a relative path; empty: it
	// has none.
	Base string
	// MemoryMB is how much memory all of its processes may take together; 0: any.
	MemoryMB int64
	// Soft: what takes more is slowed down and swapped out (memory.high), not killed.
	Soft bool
}

// Family is all processes that a job has started.
type Family struct {
	options Options
	adopts  bool  // orphans become ours
	session int   // our own
	cell    *cell // nil without a cgroup
	before  unix.Rusage

	mu     sync.Mutex
	leader int           // whoever started it waits for this one; 0: nobody yet
	ended  chan struct{} // stops the reaping; nil: not begun, or over
	last   Usage
	shared shared
	// transferred is when it was found out last what goes from and to disks.
	transferred time.Time
	removed     bool // Close was called
}

// Open prepares for the family of a job that is about to be started by the calling
// process. It never fails: where the machine has no cgroup for us it does without.
func Open(o Options) *Family {
	f := &Family{options: o}
	asuser.Root(f.open)
	return f
}

func (f *Family) open() {
	f.adopts = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
	f.session, _ = unix.Getsid(0)
	f.cell = openCell(f.options)
	unix.Getrusage(unix.RUSAGE_CHILDREN, &f.before)
}

// FD returns the open directory of the family's cgroup, for clone3(2) to start the
// job in; false when there is none. It is good until Close.
func (f *Family) FD() (fd int, ok bool) {
	if f.cell == nil {
		return -1, false
	}
	return f.cell.fd, true
}

// Mark returns NAME=value, which has to be in the environment of the job.
func (f *Family) Mark() string { return f.options.mark() }

// By tells what keeps the memory limit: ByCgroup, or ByWatch when it is for the caller
// to look at Usage. It is empty when there is no limit.
func (f *Family) By() string {
	switch {
	case f.options.MemoryMB <= 0:
		return ""
	case f.cell != nil && f.cell.limited:
		return ByCgroup
	}
	return ByWatch
}

// Begin calls start, which starts the job's own process and returns its id; whoever
// started it has to wait for it. What start forks inherits the mark in the limits. From the
// first of them on, all other processes of the family that end as children of ours are
// reaped. It returns start's error.
func (f *Family) Begin(start func() (pid int, err error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	restore := func() {}
	asuser.Root(func() { restore = f.options.setNumber() })
	pid, err := start()
	asuser.Root(restore)
	if err != nil {
		return err
	}
	f.leader = pid
	if f.ended == nil && !f.removed {
		f.ended = make(chan struct{})
		go f.reapOn(f.ended)
	}
	return nil
}

// Processes returns the ids of the processes of the family that are alive, in no order.
func (f *Family) Processes() (pids []int) {
	asuser.Root(func() {
		for _, p := range f.members() {
			pids = append(pids, p.pid)
		}
	})
	return pids
}

// OutOfMemory tells whether the kernel has killed a process of the family because all
// of them together took more than the limit.
func (f *Family) OutOfMemory() bool { return f.cell != nil && f.cell.outOfMemory() }

// End kills all processes of the family, when the job's own process has been waited
// for, and reaps them. No program can be started in the family afterwards. The error says
// how many are there still after so long: stuck in the kernel, where they run no more of
// their own code, or of another user.
func (f *Family) End(patience time.Duration) error {
	if f.cell != nil {
		asuser.Root(func() { f.cell.kill() })
	}
	return f.Clear(patience)
}

// Clear does as End does, for a family in which another program is to be started: where a
// cgroup as such was killed, kernels from Linux 6.14 on kill what is started in it, too.
func (f *Family) Clear(patience time.Duration) (err error) {
	if e := asuser.Root(func() { err = f.clear(patience) }); e != nil {
		return e
	}
	return err
}

func (f *Family) clear(patience time.Duration) error {
	find := func() []process { f.reap(); return f.members() }
	if f.childless() && (f.cell == nil || !f.cell.populated()) {
		return nil
	}
	if _, left := end(find, patience); left > 0 {
		return leftError(left, patience)
	}
	return nil
}

func leftError(left int, patience time.Duration) error {
	return fmt.Errorf("%d processes that the job left behind are still there %v after SIGKILL", left, patience)
}

// Close gives up the family, after End: its cgroup is removed, nothing is reaped any
// more, and Usage stays what it was. The error says why a cgroup is still there.
func (f *Family) Close() (err error) {
	f.Usage()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != nil {
		close(f.ended)
		f.ended = nil
	}
	if f.removed || f.cell == nil {
		f.removed = true
		return nil
	}
	f.removed = true
	if e := asuser.Root(func() { err = f.cell.remove() }); e != nil {
		return e
	}
	return err
}

// childrenReadable tells whether the kernel lists the children of processes.
func childrenReadable() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
}

// plain tells whether a name can be that of a cgroup, and the value of a mark.
func plain(name string) bool {
	return name != "" && len(name) <= 200 && name[0] != '.' && !strings.ContainsAny(name, "/\n\x00")
}
