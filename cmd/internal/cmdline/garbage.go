package cmdline

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"

	"golang.org/x/sys/unix"
)

// garbageFor returns how much more memory a command may take before garbage is collected, in percent of what is in use, so many bytes. Most
// commands end before the first collection; those that read a large queue save an eighth of their time. Where much is in use, a tenth of the
// time saves a third of the memory.
func garbageFor(used uint64) int {
	switch {
	case used < 64<<20:
		return 400
	case used < 200<<20:
		return 200
	case used < 300<<20:
		return 100
	}
	return 50
}

// firstly is garbageFor before the first collection, which is then of 8 MB: most commands end without.
const firstly = 200

// never is a percentage at which no garbage is collected. It is not -1, which a program may set meanwhile.
const never = 1 << 30

// collector has garbage collected by the memory in use, from one collection to the next.
type collector struct {
	percent int  // that it has set
	roomy   bool // makesRoom was called
	used    []metrics.Sample
}

// collectGarbage makes a collector, unless the environment says how often to collect. The collector ends when the program sets it otherwise.
func collectGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	c := &collector{percent: firstly, used: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	debug.SetGCPercent(c.percent)
	c.await()
}

// await has the collector look after the next collection: what nobody has is finalized then.
func (c *collector) await() { runtime.SetFinalizer(&struct{ _ [16]byte }{}, func(any) { c.look() }) }

func (c *collector) look() {
	metrics.Read(c.used)
	if percent := garbageFor(c.used[0].Value.Uint64()); c.makesRoom() && c.set(percent) {
		c.await()
	}
}

// set sets a percentage, unless the program has set one itself.
func (c *collector) set(percent int) bool {
	if was := debug.SetGCPercent(percent); was != c.percent {
		debug.SetGCPercent(was)
		return false
	}
	c.percent = percent
	return true
}

// makesRoom calls makeRoom once, and has the room collected, which must not be in use when the next collection is planned.
func (c *collector) makesRoom() bool {
	if c.roomy {
		return true
	}
	c.roomy = true
	if !c.set(never) {
		return false
	}
	if makeRoom() {
		runtime.GC()
	}
	return true
}

// room is how many bytes of its memory a command that needs more than a little takes in large pages. It has only those that it uses.
const room = 1 << 30

// largePages is the file that says whether the kernel gives large pages to all programs, to none, or to those that ask.
const largePages = "/sys/kernel/mm/transparent_hugepage/enabled"

// makeRoom has the kernel give the program its next memory 2 MB at a time instead of 4 KB, where programs have to ask for that. What a new page
// costs depends little on its size, and on virtual machines it can be half of a cycle. It reports whether it made garbage.
func makeRoom() bool {
	if large, err := os.ReadFile(largePages); err != nil || !strings.Contains(string(large), "[madvise]") {
		return false
	}
	if strict, err := os.ReadFile("/proc/sys/vm/overcommit_memory"); err != nil || strings.TrimSpace(string(strict)) == "2" {
		return false // memory counts that nobody uses
	}
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return false // memory that was used counts, until it is given back
	}
	probe, err := unix.Mmap(-1, 0, 2*room, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false // a limit that would end the program
	}
	unix.Munmap(probe)
	unix.Madvise(make([]byte, room), unix.MADV_HUGEPAGE) // garbage, in whose place the next memory is
	return true
}
