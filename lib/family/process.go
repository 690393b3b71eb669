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

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// process is what /proc says of one (proc(5), /proc/PID/stat).
type process struct {
	pid, parent  int
	state        byte
	threads      int
	start        uint64        // in ticks since boot
	user, system time.Duration // with those of its children that it waited for
	rssKB        int64
}

// mostProcesses bounds a look at a job that starts processes faster than they can be
// counted.
const mostProcesses = 10000

// tick is the unit in which /proc counts processor time.
const tick = time.Second / 100

// alive reports whether the process runs code of its own, now or later. One whose first
// thread has ended looks like a zombie, and is none while it has others.
func (p process) alive() bool {
	ended := p.state == 'Z' || p.state == 'X' || p.state == 'x'
	return !ended || p.threads > 1
}

// same reports whether two looks have found one process.
func (p process) same(q process) bool { return p.pid == q.pid && p.start == q.start }

// identity tells a process from all others since boot.
type identity struct {
	pid   int
	start uint64
}

func (p process) identity() identity { return identity{p.pid, p.start} }

// signal sends a signal to the process, and to none that has its number by now.
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

// readProcess reads what /proc says of a process; false when there is none.
func readProcess(pid int) (p process, ok bool) {
	var space [1024]byte
	b, err := readInto("/proc/"+strconv.Itoa(pid)+"/stat", space[:])
	i := bytes.LastIndexByte(b, ')') // the name before it may hold anything
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
	const parent, utime, stime, cutime, cstime, threads, start, rss = 4, 14, 15, 16, 17, 20, 22, 24
	return process{
		pid: pid, parent: int(number(parent)), state: fields[0][0], threads: int(number(threads)),
		start:  uint64(number(start)),
		user:   time.Duration(number(utime)+number(cutime)) * tick,
		system: time.Duration(number(stime)+number(cstime)) * tick,
		rssKB:  number(rss) * int64(os.Getpagesize()) / 1024,
	}, true
}

// readInto reads a small file of the kernel's, as much of it as there is space. It is
// made for looks that are taken again and again: os.ReadFile takes twice as long.
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

// openFile is open(2), tried again when a signal has come between.
func openFile(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// children returns the ids of the children of the process that has this name in
// /proc. One may be missing when another ends at that moment.
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
	if p.threads == 1 { // most have one, and looking for more costs more than this
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
		return nil // what it was about has ended
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

// reapOn takes away adopted children when they have ended, lest they gather, until
// ended is closed.
func (f *Family) reapOn(ended <-chan struct{}) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	defer signal.Stop(died)
	f.reap() // what ended before we were told
	for {
		select {
		case <-died:
			f.reap()
		case <-ended:
			return
		}
	}
}

// reap takes away the adopted children that have ended. The job's own process, and
// programs that we run for ourselves, are for those to wait for who started them.
func (f *Family) reap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.removed {
		return // by now they may be another family's
	}
	for _, pid := range children("self") {
		if pid != f.leader && f.adopted(pid) {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// adopted reports whether a child of ours has another session than we have. Nothing that the
// job started is in ours: a session is inherited or new, and the job has its own.
func (f *Family) adopted(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session != f.session
}

// childless reports whether we have no child at all, when those that have ended are
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

// Survivors ends what is left of a family whose supervisor is gone: what is in its
// cgroup, what has one of its marks, and what descends from that. It returns how many
// processes were sent SIGKILL. The error says how many are there still after so long.
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
		defer c.remove() // what cannot be removed is empty, or the error says so
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

// survivors returns what is alive of a family whose supervisor is gone.
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

// EndHolders sends SIGKILL to all processes that have a pipe open for reading, and returns how many
// there were. A process that has it open for writing only is left alone, and so are we; and in a
// process that serves an account, whoever is none of its users: a job may have handed the pipe to
// another process.
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
