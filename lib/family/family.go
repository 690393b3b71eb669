package family

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// What keeps a memory limit.
const (
	ByCgroup = "cgroup" // the kernel
	ByWatch  = "watch"  // the caller of Usage
)

// Options identify the family, and bound its usage.
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
	leader int           // its starter waits for this process; 0: there is none yet
	beside map[int]bool  // likewise, of those that were joined
	ended  chan struct{} // stops the reaping; nil: not begun, or over
	last   Usage
	final  bool // last was measured when all had ended
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

// FD returns the open directory of the family's cgroup, for clone3(2) to start the job
// in; false if there is none. It is valid until Close.
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

// Begin calls start, which starts the job's own process and returns its id; the caller
// must wait for it. Processes that start forks inherit the mark in the limits. From the
// first of them on, all other processes of the family that end as children of ours are
// reaped. It returns start's error.
func (f *Family) Begin(start func() (pid int, err error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	pid, err := f.numbered(start)
	if err != nil {
		return err
	}
	f.leader, f.final = pid, false
	if f.ended == nil && !f.removed {
		f.ended = make(chan struct{})
		go f.reapOn(f.ended)
	}
	return nil
}

// numbered calls start with the mark in the limits. The caller has mu.
func (f *Family) numbered(start func() (pid int, err error)) (pid int, err error) {
	restore := func() {}
	asuser.Root(func() { restore = f.options.setNumber() })
	pid, err = start()
	asuser.Root(restore)
	return pid, err
}

// Join calls start, which starts one more process of a family that has begun. The starter has to wait for that process,
// and then call the returned function. It returns start's error.
func (f *Family) Join(start func() (pid int, err error)) (ended func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	pid, err := f.numbered(start)
	if err != nil {
		return nil, err
	}
	if f.beside == nil {
		f.beside = map[int]bool{}
	}
	f.beside[pid] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.beside, pid)
	}, nil
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

// OutOfMemory reports whether the kernel has killed a process of the family because all
// of them together took more than the limit.
func (f *Family) OutOfMemory() bool { return f.cell != nil && f.cell.outOfMemory() }

// End kills all processes of the family, when the job's own process has been waited
// for, and reaps them. No program can be started in the family afterwards. The error says
// how many are there still after so long: stuck in the kernel, where they run no more of
// their own code, or of another user.
func (f *Family) End(patience time.Duration) error {
	var err error
	e := asuser.Root(func() {
		if f.empty() {
			return
		}
		if f.cell != nil {
			f.cell.kill()
		}
		err = f.clear(patience)
	})
	if err = cmp.Or(e, err); err != nil {
		return err
	}
	f.Usage()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.final = true // later callers need not look
	return nil
}

// Clear does as End does, for a family in which another program is to be started: after a
// cgroup as such was killed, kernels from Linux 6.14 on kill processes started in it,
// too.
func (f *Family) Clear(patience time.Duration) (err error) {
	if e := asuser.Root(func() { err = f.clear(patience) }); e != nil {
		return e
	}
	return err
}

func (f *Family) clear(patience time.Duration) error {
	find := func() []process { f.reap(); return f.members() }
	if f.empty() {
		return nil
	}
	if _, left := end(find, patience); left > 0 {
		return leftError(left, patience)
	}
	return nil
}

// empty reports whether the family has no process, and so nothing that could start one. It may not see all of those that
// are there: false says nothing.
func (f *Family) empty() bool { return f.childless() && (f.cell == nil || !f.cell.populated()) }

func leftError(left int, patience time.Duration) error {
	return fmt.Errorf("%d processes that the job left behind are still there %v after SIGKILL", left, patience)
}

// Close gives up the family, after End: it removes the cgroup and stops reaping, and
// Usage stays as it is. The error says why a cgroup still exists.
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

// childrenReadable reports whether the kernel lists the children of processes.
func childrenReadable() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
}

// plain reports whether a name is valid for a cgroup, and for the value of a mark.
func plain(name string) bool {
	return name != "" && len(name) <= 200 && name[0] != '.' && !strings.ContainsAny(name, "/\n\x00")
}

// members returns the processes of the family that are alive, parents before their
// children.
func (f *Family) members() []process {
	list := map[int]process{}
	for _, p := range f.descendants() {
		list[p.pid] = p
	}
	if f.cell != nil {
		for _, pid := range f.cell.pids() {
			if p, ok := readProcess(pid); ok {
				list[pid] = p
			}
		}
	}
	if !f.adopts {
		for _, p := range marked(f.options) {
			list[p.pid] = p
		}
	}
	return living(list)
}

// living returns the living processes except ourselves, in the order of their start.
func living(list map[int]process) (all []process) {
	for pid, p := range list {
		if p.alive() && pid != os.Getpid() {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b process) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	return all
}

// descendants returns the processes that descend from us, without those of our own
// session and their descendants.
func (f *Family) descendants() (list []process) {
	var todo []int
	for _, pid := range children("self") {
		if f.adopted(pid) {
			todo = append(todo, pid)
		}
	}
	if len(todo) == 0 && !childrenReadable() {
		return f.descendantsOfAll()
	}
	for len(todo) > 0 && len(list) < mostProcesses {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p, ok := readProcess(pid); ok {
			list = append(list, p)
			todo = append(todo, childrenOf(p)...)
		}
	}
	return list
}

// descendantsOfAll is descendants for a kernel that does not list children.
func (f *Family) descendantsOfAll() []process {
	all := allProcesses()
	first := map[int]bool{}
	for pid, p := range all {
		if p.parent == os.Getpid() && f.adopted(pid) {
			first[pid] = true
		}
	}
	return withDescendants(all, first)
}

// withDescendants returns the first of all processes, and what descends from them.
func withDescendants(all map[int]process, first map[int]bool) (list []process) {
	byParent := map[int][]int{}
	for pid, p := range all {
		byParent[p.parent] = append(byParent[p.parent], pid)
	}
	var todo []int
	for pid := range first {
		todo = append(todo, pid)
	}
	seen := map[int]bool{}
	for len(todo) > 0 {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p, ok := all[pid]; ok && !seen[pid] {
			seen[pid] = true
			list = append(list, p)
			todo = append(todo, byParent[pid]...)
		}
	}
	return list
}

// markName is the environment variable that marks the processes of a family.
const markName = "_FAIRSPOOL_FAMILY"

// mark returns the family's entry of the environment. A process that is one of a family itself, such as a pilot that another
// pool runs, names that family before its own: its jobs are of both.
func (o Options) mark() string {
	if outer := os.Getenv(markName); outer != "" {
		return markName + "=" + outer + "," + o.Name
	}
	return markName + "=" + o.Name
}

// number returns the family's soft limit of file locks (RLIMIT_LOCKS, getrlimit(2)), a number
// from 2^62 to 2^63 that follows from its name. Linux heeds no such limit since 2.4.25, so that
// programs neither need nor change it.
func (o Options) number() uint64 {
	sum := sha256.Sum256([]byte(o.Name))
	return 1<<62 | binary.BigEndian.Uint64(sum[:])>>2
}

// Inside reports whether the calling process is one of a job's: it has a mark of some family.
func Inside() bool {
	if os.Getenv(markName) != "" {
		return true
	}
	var own unix.Rlimit
	err := unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &own)
	return err == nil && own.Cur>>62 == 1
}

// setNumber gives the calling process the family's limit, for the next child to inherit, and
// returns the function that restores its own. It changes nothing where the hard limit is lower
// and the process may not raise it.
func (o Options) setNumber() (restore func()) {
	var own unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &own); err != nil {
		return func() {}
	}
	n := o.number()
	if err := unix.Prlimit(0, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: n, Max: max(n, own.Max)}, nil); err != nil {
		return func() {}
	}
	return func() { unix.Prlimit(0, unix.RLIMIT_LOCKS, &own, nil) }
}

// marked returns the processes of the machine that have one of the family's marks, and their
// descendants. The limit is readable for all processes; the environment only for root, or for
// processes of our own user.
func marked(o Options) []process {
	all := allProcesses()
	name, number := []byte(o.Name), strconv.FormatUint(o.number(), 10)
	first := map[int]bool{}
	for pid, p := range all {
		if pid != os.Getpid() && p.alive() && (softLocks(pid) == number || hasMark(environ(p), name)) {
			first[pid] = true
		}
	}
	return withDescendants(all, first)
}

// softLocks returns a process's soft limit of file locks as /proc words it (proc(5),
// /proc/PID/limits); empty when it cannot be read.
func softLocks(pid int) string {
	var space [4096]byte
	b, _ := readInto("/proc/"+strconv.Itoa(pid)+"/limits", space[:])
	_, line, _ := bytes.Cut(b, []byte("Max file locks"))
	fields := bytes.Fields(line[:min(len(line), 64)])
	if len(fields) == 0 {
		return ""
	}
	return string(fields[0])
}

// environ returns the environment that a process was given, nothing if we may not see it. While it begins to execute a program it has
// neither that nor a command line, and is looked at again. Threads of the kernel never have one.
func environ(p process) (b []byte) {
	dir := "/proc/" + strconv.Itoa(p.pid)
	for range 20 {
		b, _ = os.ReadFile(dir + "/environ")
		if len(b) > 0 || p.kernel {
			break
		}
		if line, err := os.ReadFile(dir + "/cmdline"); len(line) > 0 || err != nil {
			b, _ = os.ReadFile(dir + "/environ") // it may have begun in between
			break
		}
		time.Sleep(time.Millisecond)
	}
	return b
}

// hasMark reports whether an environment, as /proc has it, names a family.
func hasMark(env, family []byte) bool {
	for e := range bytes.SplitSeq(env, []byte{0}) {
		names, is := bytes.CutPrefix(e, []byte(markName+"="))
		if is && slices.ContainsFunc(bytes.Split(names, []byte{','}), func(name []byte) bool { return bytes.Equal(name, family) }) {
			return true
		}
	}
	return false
}

// end ends the processes that find finds, until it finds none. It returns how many were
// sent SIGKILL, and how many are there still after so long.
func end(find func() []process, patience time.Duration) (killed, left int) {
	begun := time.Now()
	stop(find, begun.Add(patience/2))
	sent := map[identity]bool{}
	const longest = 20 * time.Millisecond
	for none, wait := 0, time.Millisecond/2; ; wait = min(2*wait, longest) {
		all := find()
		if none++; len(all) > 0 {
			none = 0
		}
		if none == 2 {
			return len(sent), 0
		}
		for _, p := range all {
			if p.signal(syscall.SIGKILL) == nil {
				sent[p.identity()] = true
			}
		}
		if none == 0 {
			if time.Since(begun) >= patience {
				return len(sent), len(all)
			}
			time.Sleep(wait)
		}
	}
}

// stop stops processes until find finds none that was not stopped, but not after so
// late: then none of them starts another.
func stop(find func() []process, late time.Time) {
	sent := map[identity]bool{}
	for {
		fresh := 0
		for _, p := range find() {
			if id := p.identity(); !sent[id] {
				sent[id] = true
				if p.signal(syscall.SIGSTOP) == nil {
					fresh++
				}
			}
		}
		if fresh == 0 || time.Now().After(late) {
			return
		}
	}
}
