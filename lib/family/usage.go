package family

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// Usage is a family's usage since Open.
type Usage struct {
	// User and System are the processor time of all its processes, also of those that
	// have ended and were waited for. They never go back.
	User, System time.Duration
	// RSSKB is the memory that its processes have now, in KB, and PeakKB the most that
	// Usage has ever found.
	RSSKB, PeakKB int64
	// Exact: memory that several processes share is counted once in RSSKB.
	Exact     bool
	Processes int // how many are alive
	// ReadBytes and WrittenBytes went from and to disks.
	ReadBytes, WrittenBytes int64
}

// Usage measures the family. After Close it returns the last measurement.
func (f *Family) Usage() Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.removed && !f.final {
		asuser.Root(f.measure)
	}
	return f.last
}

// measure measures the family for Usage.
func (f *Family) measure() {
	// A process that ends between these two looks is in neither, until the next time. In
	// the other order it would be in both, permanently.
	ended := f.waited()
	var u Usage
	var list []process
	if !f.counted(&u) {
		list = f.measured()
		u.Processes = len(list)
		f.memory(&u, list)
	}
	f.times(&u, ended, list)
	f.transfers(&u, ended, list)
	u.PeakKB = max(u.RSSKB, f.last.PeakKB)
	if f.cell != nil && f.cell.limited && f.cell.outOfMemory() {
		u.PeakKB = max(u.PeakKB, f.cell.peakKB())
	}
	u.User, u.System = max(u.User, f.last.User), max(u.System, f.last.System)
	u.ReadBytes, u.WrittenBytes = max(u.ReadBytes, f.last.ReadBytes), max(u.WrittenBytes, f.last.WrittenBytes)
	f.last = u
}

// counted adds the memory that the kernel counts for a cgroup, so that the processes need
// not be read; false if the kernel does not count it.
func (f *Family) counted(u *Usage) bool {
	if f.cell == nil {
		return false
	}
	n := f.cell.counts("memory.stat")
	anon, ok := n["anon"]
	if !ok {
		return false
	}
	u.RSSKB, u.Exact, u.Processes = (anon+n["shmem"])/1024, true, len(f.cell.pids())
	return true
}

// measured returns the processes of the family that are alive. With a cgroup it is those
// in there, for a look that is taken again and again.
func (f *Family) measured() []process {
	if f.cell == nil {
		return f.members()
	}
	list := map[int]process{}
	for _, pid := range f.cell.pids() {
		if p, ok := readProcess(pid); ok {
			list[pid] = p
		}
	}
	return living(list)
}

// times adds the processor time.
func (f *Family) times(u *Usage, ended unix.Rusage, list []process) {
	if f.cell != nil {
		n := f.cell.counts("cpu.stat")
		if _, ok := n["user_usec"]; ok {
			u.User = time.Duration(n["user_usec"]) * time.Microsecond
			u.System = time.Duration(n["system_usec"]) * time.Microsecond
			return
		}
	}
	if list == nil {
		list = f.measured()
	}
	u.User, u.System = time.Duration(ended.Utime.Nano()), time.Duration(ended.Stime.Nano())
	for _, p := range list {
		u.User, u.System = u.User+p.user, u.System+p.system
	}
}

// waited returns what our children have used that have ended since Open.
func (f *Family) waited() (u unix.Rusage) {
	unix.Getrusage(unix.RUSAGE_CHILDREN, &u)
	u.Utime = unix.NsecToTimeval(u.Utime.Nano() - f.before.Utime.Nano())
	u.Stime = unix.NsecToTimeval(u.Stime.Nano() - f.before.Stime.Nano())
	u.Inblock -= f.before.Inblock
	u.Oublock -= f.before.Oublock
	return u
}

// transfersEvery is the interval for measuring disk transfers: they are not needed every
// second, and take as long as all the rest.
const transfersEvery = 5 * time.Second

// transfers adds what went from and to disks. Linux counts blocks of 512 bytes for those
// that have ended, whatever the disk's are.
func (f *Family) transfers(u *Usage, ended unix.Rusage, list []process) {
	if u.Processes > 0 && time.Since(f.transferred) < transfersEvery {
		return // the caller keeps the earlier value
	}
	f.transferred = time.Now()
	if f.cell != nil {
		if read, written, ok := f.cell.io(); ok {
			u.ReadBytes, u.WrittenBytes = read, written
			return
		}
	}
	if list == nil {
		list = f.measured()
	}
	const block = 512
	u.ReadBytes, u.WrittenBytes = int64(ended.Inblock)*block, int64(ended.Oublock)*block
	for _, p := range list {
		read, written := p.transfers()
		u.ReadBytes, u.WrittenBytes = u.ReadBytes+read, u.WrittenBytes+written
	}
}

// transfers returns the bytes that a process has read from and written to disks,
// including its children that it waited for; 0 if we may not know.
func (p process) transfers() (read, written int64) {
	var space [512]byte
	b, _ := readInto("/proc/"+strconv.Itoa(p.pid)+"/io", space[:])
	for line := range bytes.Lines(b) {
		name, number, _ := bytes.Cut(line, []byte(": "))
		n, _ := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
		switch string(name) {
		case "read_bytes":
			read = n
		case "write_bytes":
			written = n
		}
	}
	return read, written
}

// shared is the last look at the memory of the processes with shared memory counted once.
type shared struct {
	kb   int64
	at   time.Time
	cost time.Duration
}

const (
	// near is the part of a limit, in percent, from which on shared memory is counted
	// once.
	near = 90
	// sparing keeps that look below two hundredths of the time.
	sparing = 50
)

// memory adds how much memory these processes have.
func (f *Family) memory(u *Usage, list []process) {
	for _, p := range list {
		u.RSSKB += p.rssKB
	}
	limit := f.options.MemoryMB
	if len(list) < 2 || limit <= 0 || u.RSSKB/1024*100 < limit*near {
		return
	}
	if now := time.Now(); f.shared.at.IsZero() || now.Sub(f.shared.at) >= sparing*f.shared.cost {
		kb := int64(0)
		for _, p := range list {
			kb += p.proportionalKB()
		}
		end := time.Now()
		f.shared = shared{kb, end, end.Sub(now)}
	}
	u.RSSKB, u.Exact = f.shared.kb, true
}

// proportionalKB returns a process's memory, with only its part of shared memory; its
// resident set if we may not know (proc(5), /proc/PID/smaps_rollup).
func (p process) proportionalKB() int64 {
	var space [2048]byte
	b, err := readInto("/proc/"+strconv.Itoa(p.pid)+"/smaps_rollup", space[:])
	if err != nil {
		return p.rssKB
	}
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) >= 2 && string(fields[0]) == "Pss:" {
			if kb, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				return kb
			}
		}
	}
	return p.rssKB
}

// peakKB returns the most memory that the cgroup ever had, page cache and all; 0 where
// the kernel does not say.
func (c *cell) peakKB() int64 {
	b, _ := os.ReadFile(filepath.Join(c.dir, "memory.peak"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return n / 1024
}
