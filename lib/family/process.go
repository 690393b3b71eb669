package family

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// process is a process as /proc/PID/stat has it (proc(5)).
type process struct {
	pid, parent  int
	state        byte
	threads      int
	start        uint64        // in ticks since boot
	user, system time.Duration // including children that it has waited for
	rssKB        int64
	kernel       bool // it is a thread of the kernel
}

// mostProcesses bounds a look at a job that starts processes faster than they are counted.
const mostProcesses = 10000

// tick is the unit in which /proc counts processor time.
const tick = time.Second / 100

// alive reports whether the process runs code, now or later. A process with threads is alive, even
// if its first thread has ended and it looks like a zombie.
func (p process) alive() bool {
	ended := p.state == 'Z' || p.state == 'X' || p.state == 'x'
	return !ended || p.threads > 1
}

// same reports whether p and q are one process.
func (p process) same(q process) bool { return p.pid == q.pid && p.start == q.start }

// identity identifies a process among all since the boot.
type identity struct {
	pid   int
	start uint64
}

func (p process) identity() identity { return identity{p.pid, p.start} }

// signal sends a signal to the process, and never to another one with the same id.
func (p process) signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	} else if err != unix.ENOSYS {
		return err
	}
	now, there := readProcess(p.pid)
	switch {
	case !there || !now.same(p):
		return unix.ESRCH
	case err == nil:
		return unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	return unix.Kill(p.pid, sig) // before Linux 5.3
}

// readProcess reads a process from /proc; false if it does not exist.
func readProcess(pid int) (p process, ok bool) {
	var space [1024]byte
	b, err := readInto("/proc/"+strconv.Itoa(pid)+"/stat", space[:])
	i := bytes.LastIndexByte(b, ')') // the name before it may have any bytes
	if err != nil || i < 0 {
		return process{}, false
	}
	fields := bytes.Fields(b[i+1:]) // from field 3 on
	if len(fields) < 22 {
		return process{}, false
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(string(fields[field-3]), 10, 64)
		return n
	}
	const kernelThread = 0x200000 // PF_KTHREAD in include/linux/sched.h
	const parent, flags, utime, stime, cutime, cstime, threads, start, rss = 4, 9, 14, 15, 16, 17, 20, 22, 24
	return process{
		pid: pid, parent: int(number(parent)), state: fields[0][0], threads: int(number(threads)),
		start:  uint64(number(start)),
		user:   time.Duration(number(utime)+number(cutime)) * tick,
		system: time.Duration(number(stime)+number(cstime)) * tick,
		rssKB:  number(rss) * int64(os.Getpagesize()) / 1024,
		kernel: number(flags)&kernelThread != 0,
	}, true
}

// readInto reads as much of a small file of the kernel's as there is space. It is for
// frequent looks: os.ReadFile takes twice as long.
func readInto(path string, space []byte) ([]byte, error) {
	fd, err := openFile(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n := 0
	for n < len(space) {
		m, err := unix.Read(fd, space[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return space[:n], nil
}

// openFile is open(2), repeated after EINTR.
func openFile(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// children returns the ids of the children of the process with this name in
// /proc. A child may be missing if another one ends at that moment.
func children(name string) (pids []int) {
	dir, err := os.Open("/proc/" + name + "/task")
	if err != nil {
		return nil // it has ended
	}
	defer dir.Close()
	threads, _ := dir.Readdirnames(-1)
	for _, thread := range threads {
		pids = append(pids, readPIDs("/proc/"+name+"/task/"+thread+"/children")...)
	}
	return pids
}

// childrenOf returns the ids of a process's children.
func childrenOf(p process) []int {
	name := strconv.Itoa(p.pid)
	if p.threads == 1 { // most have one, and listing threads costs more
		return readPIDs("/proc/" + name + "/task/" + name + "/children")
	}
	return children(name)
}

// readPIDs reads a file with process ids in it.
func readPIDs(file string) (pids []int) {
	var space [2048]byte
	b, err := readInto(file, space[:])
	if err == nil && len(b) == len(space) {
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return nil // the process has ended
	}
	for _, word := range bytes.Fields(b) {
		if pid, err := strconv.Atoi(string(word)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// allProcesses returns all processes of the machine, by id.
func allProcesses() map[int]process {
	all := map[int]process{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				all[pid] = p
			}
		}
	}
	return all
}

// reapOn reaps adopted children that have ended, until ended is closed.
func (f *Family) reapOn(ended <-chan struct{}) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	defer signal.Stop(died)
	f.reap() // those that have ended before the first signal
	for {
		select {
		case <-died:
			f.reap()
		case <-ended:
			return
		}
	}
}

// reap reaps adopted children that have ended. The job's own process, and
// programs that this process runs, are reaped by the code that started them.
func (f *Family) reap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.removed {
		return // they may be another family's by now
	}
	// Most often it is the job's own process that has ended. A process that appears only
	// when that is waited for is found by the look before the end.
	if pid, ended := anyEnded(); !ended || pid == f.leader || f.beside[pid] {
		return
	}
	for _, pid := range children("self") {
		if pid != f.leader && !f.beside[pid] && f.adopted(pid) {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// anyEnded returns one of the children that have ended and were not waited for.
func anyEnded() (pid int, ok bool) {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		return 0, false
	}
	// The union of siginfo_t begins at the alignment of a pointer, with si_pid.
	pid = int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), 8+unsafe.Sizeof(uintptr(0)))))
	return pid, pid != 0
}

// adopted reports whether a child of this process has another session. No process of the
// job has this process's session: a session is inherited or new, and the job has its own.
func (f *Family) adopted(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session != f.session
}

// childless reports whether this process has no child once those that have ended are
// reaped.
func (f *Family) childless() bool {
	none := func() bool {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		return err == unix.ECHILD
	}
	if none() {
		return true
	}
	f.reap()
	return none()
}

// Survivors ends the processes of a family whose supervisor has died: those in its
// cgroup, those with one of its marks, and their descendants. It returns how many
// processes it has sent SIGKILL. The error says how many still exist after the time patience.
//
// Without a cgroup it does not find a process that has cleared its environment, set its
// limit of file locks, and outlived its ancestors.
func Survivors(o Options, patience time.Duration) (killed int, err error) {
	if e := asuser.Root(func() { killed, err = endSurvivors(o, patience) }); e != nil {
		return 0, e
	}
	return killed, err
}

func endSurvivors(o Options, patience time.Duration) (killed int, err error) {
	var cells []*cell
	for _, dir := range findGroups(o) {
		c := &cell{dir: dir, fd: -1}
		defer c.remove() // it is empty, or the error says otherwise
		cells = append(cells, c)
	}
	find := func() []process { return survivors(o, cells) }
	if len(find()) == 0 {
		return 0, nil
	}
	killed, left := end(find, patience)
	if left > 0 {
		err = leftError(left, patience)
	}
	return killed, err
}

// survivors returns the living processes of a family whose supervisor has died.
func survivors(o Options, cells []*cell) []process {
	list := map[int]process{}
	if plain(o.Name) {
		for _, p := range marked(o) {
			list[p.pid] = p
		}
	}
	for _, c := range cells {
		for _, pid := range c.pids() {
			if p, ok := readProcess(pid); ok {
				list[pid] = p
			}
		}
	}
	return living(list)
}

// EndHolders sends SIGKILL to all processes that have a pipe open for reading, and returns their
// number. It spares this process and processes that have the pipe open for writing only. In a
// process that serves an account it spares processes of others than the account's users, since a job
// may have handed the pipe to any process.
func EndHolders(path string) (killed int) {
	pipe, err := os.Stat(path)
	if err != nil {
		return 0
	}
	asuser.Root(func() {
		for pid, p := range allProcesses() {
			if pid != os.Getpid() && holds(pid, pipe) && asuser.Refusal(asuser.User{UID: realUser(pid)}) == "" && p.signal(syscall.SIGKILL) == nil {
				killed++
			}
		}
	})
	return killed
}

// holds reports whether a process has a pipe open for reading.
func holds(pid int, pipe os.FileInfo) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	links, _ := filepath.Glob(dir + "/fd/*")
	for _, link := range links {
		info, err := os.Stat(link)
		if err != nil || !os.SameFile(info, pipe) {
			continue
		}
		about, err := os.ReadFile(filepath.Join(dir, "fdinfo", filepath.Base(link)))
		if err == nil && flagsOf(string(about))&syscall.O_ACCMODE != syscall.O_WRONLY {
			return true
		}
	}
	return false
}

// flagsOf returns the flags with which a file was opened, by its fdinfo (proc(5)).
func flagsOf(about string) int64 {
	n, _ := strconv.ParseInt(field(about, "flags:"), 8, 64)
	return n
}

// realUser returns the real uid of a process; 0 if it has ended.
func realUser(pid int) int {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	uid, _ := strconv.Atoi(field(string(status), "Uid:"))
	return uid
}

// field returns the first word behind a name in a text of /proc.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, is := strings.CutPrefix(line, name); is {
			word, _, _ := strings.Cut(strings.TrimSpace(rest), "\t")
			return word
		}
	}
	return ""
}
