package local

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/family"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
)

func TestLimitsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy MemoryLimit
		disk   bool
		pairs  []string
		memory int64
		may    int64
		soft   bool
	}{
		{NoMemoryLimit, false, []string{"RequestMemory", "100", "RequestDisk", "7"}, 0, 0, false},
		{HardMemory, true, []string{"RequestMemory", "100", "RequestDisk", "7"}, 100, 7, false},
		{SoftMemory, false, []string{"RequestMemory", "50 * 2.001"}, 101, 0, true},
		{HardMemory, true, nil, 0, 0, false},
		{HardMemory, true, []string{"RequestMemory", "-1", "RequestDisk", `"x"`}, 0, 0, false},
		{HardMemory, true, []string{"RequestMemory", "1e300", "RequestDisk", "0"}, 0, 0, false},
	} {
		l := limitsOf(Settings{Memory: c.policy, StrictDisk: c.disk, MaxScratch: -1}, adOf(t, c.pairs...), nil)
		if l.memoryMB != c.memory || l.mayUseKB != c.may || l.soft != c.soft {
			t.Errorf("limitsOf(%d, %v, %v) = %d MB, %d KB, soft %v, want %d, %d, %v", c.policy, c.disk, c.pairs, l.memoryMB, l.mayUseKB, l.soft, c.memory, c.may, c.soft)
		}
	}
}

// A request that has become more than the slot has, which it can by an expression, or that is
// none, is limited by the slot.
func TestLimitsOfSlot(t *testing.T) {
	t.Parallel()
	set := Settings{Memory: HardMemory, StrictDisk: true, MaxScratch: -1}
	for _, c := range []struct {
		memory, disk, has string
		wantMB, wantKB    int64
	}{
		{"100", "200", "1000", 100, 200},
		{"ifThenElse(JobStatus =?= 2, 100000, 1)", "ifThenElse(NumJobStarts > 0, 100000, 1)", "64", 64, 64},
		{"0", "undefined", "64", 64, 64},
		{"100", "0", "undefined", 100, 0},
		{"100", "0", "-5", 100, 0},
	} {
		ad := adOf(t, "JobStatus", "2", "NumJobStarts", "1", "RequestMemory", c.memory, "RequestDisk", c.disk)
		l := limitsOf(set, ad, adOf(t, "Memory", c.has, "Disk", c.has))
		if l.memoryMB != c.wantMB || l.mayUseKB != c.wantKB {
			t.Errorf("limitsOf(%s, %s) in a slot with %s = %d MB, %d KB, want %d, %d", c.memory, c.disk, c.has, l.memoryMB, l.mayUseKB, c.wantMB, c.wantKB)
		}
	}
}

// TestMaxScratchSize holds that a scratch directory has a limit by default, which is no limit for other
// files and of which a job may ask for more, and that what the job asks for is the limit where that is
// enforced.
func TestMaxScratchSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mb        int64
		enforce   bool
		asks, has string
		want      int64
		strict    bool
	}{
		{100, false, "1024", "undefined", 100 << 10, false},
		{100, false, "300 * 1024", "undefined", 300 << 10, false},
		{100, false, "300 * 1024", "200 * 1024", 200 << 10, false}, // a slot is divided by what it has
		{100, false, "undefined", "undefined", 100 << 10, false},
		{-1, false, "1024", "undefined", 0, false},
		{100, true, "1024", "undefined", 1024, true},
		{-1, true, "1024", "undefined", 1024, true},
		{100, true, "0", "undefined", 100 << 10, false},
	} {
		set := Settings{StrictDisk: c.enforce, MaxScratch: c.mb}
		l := limitsOf(set, adOf(t, "RequestDisk", c.asks), adOf(t, "Disk", c.has))
		if l.mayUseKB != c.want || l.strict != c.strict || len(l.rlimits()) > 0 != c.strict || l.diskBy() != "" != c.strict {
			t.Errorf("limitsOf(%+v) = %d KB, strict %v", c, l.mayUseKB, l.strict)
		}
	}
	var st unix.Statfs_t
	dir := t.TempDir()
	testenv.OK(t, unix.Statfs(dir, &st))
	free := int64(st.Bavail) * st.Bsize >> 10
	for _, folder := range []string{dir, dir + "/execute"} {
		if kb := maxScratch(0, folder); kb < 1 || kb > 2*free/int64(1+runtime.NumCPU()) {
			t.Errorf("of %d KB on %s a job may have %d, want a share", free, folder, kb)
		}
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	meminfo := func(name, text string) string {
		path := filepath.Join(dir, name)
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	rich := meminfo("rich", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 100 kB\n")
	poor := meminfo("poor", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 99 kB\n")
	later := time.Now().Add(time.Hour)
	memory := jobpolicy.Verdict{Action: jobpolicy.Hold, Code: 34, Subcode: 102, Reason: "memory usage exceeded request_memory: used 11 MB of 10"}
	disk := jobpolicy.Verdict{Action: jobpolicy.Hold, Code: 34, Subcode: 104, Reason: "disk usage exceeded request_disk: used 8 KB of 7"}
	scratch := disk
	scratch.Reason = "disk usage exceeded MAX_SCRATCH_SIZE: used 8 KB of 7; request_disk asks for more"
	for _, c := range []struct {
		name string
		l    limits
		rss  int64
		want jobpolicy.Verdict
	}{
		{"nothing is enforced", limits{}, 1 << 40, jobpolicy.Verdict{}},
		{"as much as it may", limits{memoryMB: 10, memoryBy: family.ByWatch}, 10 << 10, jobpolicy.Verdict{}},
		{"more memory", limits{memoryMB: 10, memoryBy: family.ByWatch}, 10<<10 + 1, memory},
		{"the kernel sees to that", limits{memoryMB: 10, memoryBy: family.ByCgroup}, 10<<10 + 1, jobpolicy.Verdict{}},
		{"soft, and enough", limits{memoryMB: 10, memoryBy: family.ByWatch, soft: true, meminfo: rich}, 11 << 10, jobpolicy.Verdict{}},
		{"soft, and short", limits{memoryMB: 10, memoryBy: family.ByWatch, soft: true, meminfo: poor}, 11 << 10, memory},
		{"soft, and nobody knows", limits{memoryMB: 10, memoryBy: family.ByWatch, soft: true, meminfo: dir}, 11 << 10, jobpolicy.Verdict{}},
		{"as much disk", limits{strict: true, mayUseKB: 7, disk: &holding{kb: 7, next: later}}, 0, jobpolicy.Verdict{}},
		{"more disk", limits{strict: true, mayUseKB: 7, disk: &holding{kb: 8, next: later}}, 0, disk},
		{"more scratch", limits{mayUseKB: 7, disk: &holding{kb: 8, next: later}}, 0, scratch},
		{"more disk that it may have", limits{disk: &holding{kb: 8, next: later}}, 0, jobpolicy.Verdict{}},
	} {
		got, over := c.l.over(family.Usage{RSSKB: c.rss})
		if got != c.want || over != (c.want != jobpolicy.Verdict{}) {
			t.Errorf("%s: over = %+v, %v, want %+v", c.name, got, over, c.want)
		}
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	xfsz := launch.Ended{Signal: int(syscall.SIGXFSZ)}
	for _, c := range []struct {
		name    string
		l       limits
		e       launch.Ended
		oom     bool
		subcode int // 0: it is not held
		reason  string
	}{
		{"by itself", limits{memoryMB: 10, mayUseKB: 7}, launch.Ended{}, false, 0, ""},
		{"killed", limits{memoryMB: 10, mayUseKB: 7}, launch.Ended{Signal: 9}, false, 0, ""},
		{"killed for its memory", limits{memoryMB: 10}, launch.Ended{Signal: 9}, true, 102, "memory usage exceeded request_memory: used 10 MB of 10"},
		{"a part of it was", limits{memoryMB: 10}, launch.Ended{Code: 1}, true, 102, "memory usage exceeded request_memory: used 10 MB of 10"},
		{"a file too large", limits{mayUseKB: 7, strict: true}, xfsz, false, 104, "disk usage exceeded request_disk: a file would be larger than 7 KB"},
		{"its own limit", limits{mayUseKB: 7}, xfsz, false, 0, ""},
	} {
		got, over := c.l.stopped(c.e, family.Usage{PeakKB: 9 << 10}, c.oom)
		if got.Subcode != c.subcode || got.Reason != c.reason || over != (c.subcode != 0) || over && (got.Action != jobpolicy.Hold || got.Code != 34) {
			t.Errorf("%s: stopped = %+v, %v, want the subcode %d, and %q", c.name, got, over, c.subcode, c.reason)
		}
	}
}

// heldKB is what du(1) says.
func TestHeldKB(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const size = 100 << 10
	put := func(name string) string {
		path := filepath.Join(dir, name)
		testenv.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.OK(t, os.WriteFile(path, make([]byte, size), 0o600))
		return path
	}
	one := put("a")
	put("b/c/d")
	for name, make := range map[string]func(path string) error{
		"hard": func(path string) error { return os.Link(one, path) },
		"soft": func(path string) error { return os.Symlink("/", path) },
		"pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		testenv.OK(t, make(filepath.Join(dir, "b", name)))
	}
	before := heldKB(dir)
	if before < 200 || before > 300 {
		t.Errorf("heldKB of two files of 100 KB = %d", before)
	}
	deep := dir
	for range 20 {
		deep = filepath.Join(deep, strings.Repeat("n", 250)) // longer than a path may be
		if err := os.Mkdir(deep, 0o755); err != nil {
			break
		}
	}
	put("e")
	if got := heldKB(dir); got < before+100 {
		t.Errorf("heldKB with another file = %d, want %d at least", got, before+100)
	}
	if got := heldKB(filepath.Join(dir, "none")); got != 0 {
		t.Errorf("heldKB of nothing = %d, want 0", got)
	}
	if got := heldKB(filepath.Join(dir, "b", "soft")); got != 0 {
		t.Errorf("heldKB of a link = %d, want 0", got)
	}
}

// Looks are taken beside whatever goes on, and seldom.
func TestHolding(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := &holding{dir: dir}
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 100<<10), 0o600))
	testenv.Until(t, "something was found", func() bool { return h.wait() > 0 })
	first := h.kb
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "b"), make([]byte, 100<<10), 0o600))
	if got := h.look(); got != first || h.found != nil {
		t.Errorf("look = %d a moment later, want %d and nobody who looks", got, first)
	}
	if got := h.final(); got < first+100 {
		t.Errorf("final = %d, want %d at least", got, first+100)
	}
	h.take(finding{5, time.Minute})
	if wait := time.Until(h.next); wait < 49*time.Minute {
		t.Errorf("after a look of a minute the next is in %v, want 50 minutes", wait)
	}
}

func TestLowestFree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		usable, taken []int
		n             int
		want          string
	}{
		{[]int{0, 1, 2, 3}, nil, 2, "[0 1]"},
		{[]int{0, 1, 2, 3}, []int{0, 2}, 2, "[1 3]"},
		{[]int{4, 6, 9}, []int{5, 6}, 2, "[4 9]"},
		{[]int{0, 1}, []int{1}, 2, "[]"},
		{[]int{0, 1}, []int{0, 1}, 1, "[]"},
		{nil, nil, 1, "[]"},
	} {
		taken := map[int]bool{}
		for _, cpu := range c.taken {
			taken[cpu] = true
		}
		if got := fmt.Sprint(lowestFree(c.usable, taken, c.n)); got != c.want {
			t.Errorf("lowestFree(%v, %v, %d) = %v, want %s", c.usable, c.taken, c.n, got, c.want)
		}
	}
}
