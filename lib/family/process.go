package family

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
