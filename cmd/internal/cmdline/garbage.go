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
	asked   bool // for large pages
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
	percent := garbageFor(c.used[0].Value.Uint64())
	if !c.asked {
		c.asked = true
		if !c.set(never) {
			return
		}
		if makeRoom() {
			runtime.GC() // the next collection is planned by what is in use, without the room
		}
	}
	if c.set(percent) {
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

// room is how many bytes a command that needs more than a little asks for in large pages. It takes only the pages that it uses.
const room = 1 << 30

// largePages is the file with the kernel's rule for large pages: for all programs, for none, or for programs that ask.
const largePages = "/sys/kernel/mm/transparent_hugepage/enabled"

// mayAsk reports whether the kernel gives large pages to programs that ask, and only to them.
func mayAsk() bool {
	rule, err := os.ReadFile(largePages)
	return err == nil && strings.Contains(string(rule), "[madvise]")
}

// makeRoom has the kernel give the program its next memory 2 MB at a time instead of 4 KB, if mayAsk. The price of a new page depends little on
// its size, and on virtual machines new pages can take half of a cycle. makeRoom reports whether it made the room, which is garbage at once:
// what the program allocates after the next collection is put in its place.
func makeRoom() bool {
	if !mayAsk() || debug.SetMemoryLimit(-1) != math.MaxInt64 { // such a limit counts the room, too
		return false
	}
	if strict, err := os.ReadFile("/proc/sys/vm/overcommit_memory"); err != nil || strings.TrimSpace(string(strict)) == "2" {
		return false // the kernel counts memory that is not used, too
	}
	probe, err := unix.Mmap(-1, 0, 2*room, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false // Go ends a program that cannot have its memory
	}
	unix.Munmap(probe)
	unix.Madvise(make([]byte, room), unix.MADV_HUGEPAGE)
	return true
}
