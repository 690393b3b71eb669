package local

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/family"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// limits are the enforced bounds of an attempt's usage.
type limits struct {
	memoryMB int64    // 0: any
	mayUseKB int64    // of disk; 0: any
	strict   bool     // mayUseKB is the job's request, and also bounds each file
	soft     bool     // memoryMB counts only while the machine runs short of memory
	memoryBy string   // what enforces the memory limit, as family.By returns it
	disk     *holding // the size of the scratch directory; nil before its place is known
	meminfo  string   // the file with the machine's free memory
}

// MemoryLimit says how far jobs have to keep to the memory that they asked for.
type MemoryLimit int

const (
	NoMemoryLimit MemoryLimit = iota
	SoftMemory                // while the machine runs short of memory
	HardMemory                // at any time
)

// limitsOf returns the limits of a job, which are its requests as far as they are enforced. A request is
// bounded by what its slot has, also where it is no number above 0, so that no job takes what
// other jobs were given; a nil slot, or one without the attribute, bounds nothing. A scratch directory
// is always limited, so that it cannot fill the disk.
func limitsOf(set Settings, ad, slot *classad.Ad) limits {
	l := limits{meminfo: "/proc/meminfo"}
	if set.Memory != NoMemoryLimit {
		l.memoryMB, l.soft = allowed(ad, pool.AttrRequestMemory, slot, pool.AttrMemory), set.Memory == SoftMemory
	}
	asked := allowed(ad, pool.AttrRequestDisk, slot, pool.AttrDisk)
	if l.strict = set.StrictDisk && asked > 0; l.strict {
		l.mayUseKB = asked
	} else if least := maxScratch(set.MaxScratch, set.Folder.Path); least > 0 {
		l.mayUseKB = max(least, asked)
	}
	return l
}

// maxScratch returns the bound of a scratch directory in a folder in KB, whatever its job asked
// for, by MAX_SCRATCH_SIZE in MB; 0: none. By default it divides the free space at the job's start by the
// number of cores and one, so that a job on each core leaves some space free.
func maxScratch(mb int64, folder string) int64 {
	if mb != 0 {
		return max(mb, 0) << 10
	}
	var st unix.Statfs_t
	err := unix.Statfs(folder, &st)
	if err != nil { // it is made when it is needed first
		err = unix.Statfs(filepath.Dir(folder), &st)
	}
	if err != nil {
		return 0
	}
	return max(int64(st.Bavail)*st.Bsize>>10/int64(runtime.NumCPU()+1), 1)
}

// allowed returns how much of a resource a job may take: its request, bounded by what its slot
// has; 0: any.
func allowed(ad *classad.Ad, asks string, slot *classad.Ad, has string) int64 {
	n := request(ad, asks)
	if slot == nil {
		return n
	}
	if most := request(slot, has); most > 0 && (n == 0 || n > most) {
		return most
	}
	return n
}

// request returns a job's request of a resource, rounded up.
func request(ad *classad.Ad, name string) int64 {
	x, ok := ad.EvalNumber(&classad.Context{}, name)
	if !ok || !(x > 0 && x < 1<<53) {
		return 0
	}
	return int64(math.Ceil(x))
}

// open opens the family of the attempt under its limits; scratch is its scratch
// directory.
func (l *limits) open(o family.Options, scratch string) *family.Family {
	o.MemoryMB, o.Soft = l.memoryMB, l.soft
	f := family.Open(o)
	l.memoryBy, l.disk = f.By(), &holding{dir: scratch}
	return f
}

// found returns the attributes that say what enforces the limits; nil expressions: nothing does.
func (l *limits) found() (list []launch.Found) {
	for _, x := range []struct{ attr, by string }{
		{pool.AttrMemoryLimitedBy, l.memoryBy},
		{pool.AttrDiskLimitedBy, l.diskBy()},
	} {
		f := launch.Found{Name: x.attr}
		if x.by != "" {
			f.Expr = classad.Literal(classad.String(x.by))
		}
		list = append(list, f)
	}
	return list
}

// diskBy returns what enforces the disk limit that the job asked for. A limit for each file (setrlimit(2))
// acts at once, and the watch finds other excess.
func (l *limits) diskBy() string {
	if !l.strict {
		return ""
	}
	return family.ByWatch
}

// rlimits returns the setrlimit(2) limits of the job's processes.
func (l *limits) rlimits() []launch.Rlimit {
	if !l.strict {
		return nil
	}
	bytes := uint64(l.mayUseKB) << 10
	return []launch.Rlimit{{Resource: unix.RLIMIT_FSIZE, Soft: bytes, Hard: bytes}}
}

// over returns the verdict on a job that has taken more than it may, and false for other jobs. It does not
// wait: the scratch directory is measured concurrently.
func (l *limits) over(u family.Usage) (v jobpolicy.Verdict, over bool) {
	if l.memoryBy == family.ByWatch && u.RSSKB > l.memoryMB<<10 && (!l.soft || l.short()) {
		return l.memoryExceeded(u.RSSKB), true
	}
	if l.mayUseKB > 0 && l.disk != nil {
		if kb := l.disk.look(); kb > l.mayUseKB {
			return l.diskExceeded(kb), true
		}
	}
	return v, false
}

// stopped returns the verdict on a job that the kernel ended for taking more than it may, and false if
// the job ended otherwise.
func (l *limits) stopped(e launch.Ended, u family.Usage, outOfMemory bool) (v jobpolicy.Verdict, over bool) {
	switch {
	case outOfMemory && l.memoryMB > 0:
		return l.memoryExceeded(max(u.PeakKB, l.memoryMB<<10)), true
	case e.Signal == int(unix.SIGXFSZ) && l.strict:
		reason := fmt.Sprintf("disk usage exceeded request_disk: a file would be larger than %d KB", l.mayUseKB)
		return jobpolicy.Verdict{Action: jobpolicy.Hold, Reason: reason, Code: launch.HoldResources, Subcode: launch.TooMuchDisk}, true
	}
	return v, false
}

func (l *limits) memoryExceeded(kb int64) jobpolicy.Verdict {
	return exceeded("memory", "request_memory", (kb+1023)/1024, l.memoryMB, "MB", launch.TooMuchMemory)
}

func (l *limits) diskExceeded(kb int64) jobpolicy.Verdict {
	if l.strict {
		return exceeded("disk", "request_disk", kb, l.mayUseKB, "KB", launch.TooMuchDisk)
	}
	v := exceeded("disk", "MAX_SCRATCH_SIZE", kb, l.mayUseKB, "KB", launch.TooMuchDisk)
	v.Reason += "; request_disk asks for more"
	return v
}

// exceeded holds a job that has used more than it asked for.
func exceeded(what, command string, used, limit int64, unit string, subcode int) jobpolicy.Verdict {
	reason := fmt.Sprintf("%s usage exceeded %s: used %d %s of %d", what, command, used, unit, limit)
	return jobpolicy.Verdict{Action: jobpolicy.Hold, Reason: reason, Code: launch.HoldResources, Subcode: subcode}
}

// short reports whether the machine runs short of memory: less than a tenth of it is available
// without swapping.
func (l *limits) short() bool {
	b, err := os.ReadFile(l.meminfo)
	if err != nil {
		return false
	}
	var total, available int64
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(string(fields[1]), 10, 64)
		switch string(fields[0]) {
		case "MemTotal:":
			total = kb
		case "MemAvailable:":
			available = kb
		}
	}
	return available < total/10
}

// diskKB returns the last measured size of the scratch directory in KB. It waits a
// little for a running measurement.
func (l *limits) diskKB() int64 {
	if l.disk == nil {
		return 0
	}
	return l.disk.wait()
}

// finalDiskKB is diskKB for a scratch directory that does not change any more, or the last measurement if that is more.
func (l *limits) finalDiskKB() int64 {
	if l.disk == nil {
		return 0
	}
	return l.disk.final()
}

const (
	// lookDiskEvery is the least time between two measurements of a scratch directory.
	lookDiskEvery = 2 * time.Second
	// sparing keeps measurements below a fiftieth of the time.
	sparing = 50
	// deepest bounds how many directories are open at the same time, and mostEntries
	// the time of a measurement. Files beyond these bounds are not counted.
	deepest     = 500
	mostEntries = 5_000_000
)

// holding is the size of a directory, measured concurrently.
type holding struct {
	dir   string
	kb    int64         // the last measured size
	next  time.Time     // of the next measurement
	found chan finding  // nil: no measurement is running
	cost  time.Duration // of the last measurement
}

// finding is the result of a measurement.
type finding struct {
	kb   int64
	cost time.Duration
}

// look returns the last measured size, and starts the next measurement when it is due.
func (h *holding) look() int64 {
	select {
	case f := <-h.found:
		h.take(f)
	default:
	}
	if h.found == nil && !time.Now().Before(h.next) {
		found, dir := make(chan finding, 1), h.dir
		h.found = found
		go func() {
			begun := time.Now()
			kb := heldKB(dir)
			found <- finding{kb, time.Since(begun)}
		}()
	}
	return h.kb
}

// wait is look, but waits a little for a running measurement.
func (h *holding) wait() int64 { return h.waitFor(50 * time.Millisecond) }

func (h *holding) waitFor(patience time.Duration) int64 {
	h.look()
	if h.found != nil {
		select {
		case f := <-h.found:
			h.take(f)
		case <-time.After(patience):
		}
	}
	return h.kb
}

// final returns the size of a directory that does not change any more, or the last measured size if
// that is more, or measuring takes long.
func (h *holding) final() int64 {
	const patience = time.Second
	if h.found != nil {
		h.waitFor(patience) // it began before the directory was final
	}
	h.next = time.Time{}
	before := h.kb
	return max(before, h.waitFor(patience))
}

func (h *holding) take(f finding) {
	h.kb, h.cost, h.found = f.kb, f.cost, nil
	h.next = time.Now().Add(max(lookDiskEvery, sparing*f.cost))
}

// heldKB returns the disk space in KB that is allocated for a directory and all that is in it, each
// file once however many names it has. It follows no links and skips files that go meanwhile. With root's
// rights it also counts directories that their owner has closed.
func heldKB(dir string) int64 {
	top, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(top)
	var about unix.Stat_t
	if err := unix.Fstat(top, &about); err != nil || asuser.Refusal(asuser.User{UID: int(about.Uid)}) != "" {
		return 0 // no job has it
	}
	w := walk{linked: map[inode]bool{}}
	asuser.Root(func() {
		fd, err := unix.Openat(top, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			w.directory(fd, 0)
		}
	})
	return w.blocks / 2 // of 512 bytes
}

// inode identifies a file whatever its names are.
type inode struct{ dev, number uint64 }

// walk counts a tree by open directories, so that files that are moved meanwhile do not lead it out of
// the tree, and no path is too long.
type walk struct {
	blocks  int64
	entries int
	linked  map[inode]bool // counted files with several names
}

// directory adds an open directory, which it closes.
func (w *walk) directory(fd, depth int) {
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	var self unix.Stat_t
	if unix.Fstat(fd, &self) == nil {
		w.blocks += self.Blocks
	}
	for {
		const atOnce = 1000
		names, err := f.Readdirnames(atOnce)
		for _, name := range names {
			if w.entries++; w.entries > mostEntries {
				return
			}
			w.entry(fd, name, depth)
		}
		if err != nil {
			return
		}
	}
}

// entry adds an entry of an open directory.
func (w *walk) entry(dir int, name string, depth int) {
	var info unix.Stat_t
	if unix.Fstatat(dir, name, &info, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		if depth == deepest {
			return
		}
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			w.directory(fd, depth+1)
		}
		return
	}
	if info.Nlink > 1 {
		id := inode{uint64(info.Dev), info.Ino}
		if w.linked[id] {
			return
		}
		w.linked[id] = true
	}
	w.blocks += info.Blocks
}

// Processors returns as many processors as there are cores, the lowest that this process may use and
// that are not taken; nil if there are fewer.
func Processors(cores float64, taken map[int]bool) []int {
	usable := processorsHere()
	if !(cores > 0) || cores > float64(len(usable)) {
		return nil
	}
	return lowestFree(usable, taken, int(math.Ceil(cores)))
}

// lowestFree returns the first n usable processors that are not taken; nil if there are fewer.
func lowestFree(usable []int, taken map[int]bool, n int) []int {
	var free []int
	for _, cpu := range usable {
		if !taken[cpu] && len(free) < n {
			free = append(free, cpu)
		}
	}
	if len(free) < n {
		return nil
	}
	return free
}

// processorsHere returns the processors that this process may use, ascending; none if that is unknown.
func processorsHere() (list []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for cpu, left := 0, set.Count(); left > 0; cpu++ {
		if set.IsSet(cpu) {
			list, left = append(list, cpu), left-1
		}
	}
	return list
}
