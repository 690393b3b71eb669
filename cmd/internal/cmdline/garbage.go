package cmdline

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

// collector has garbage collected by the memory in use, from one collection to the next.
type collector struct {
	percent int // that it has set
	used    []metrics.Sample
}

// collectGarbage makes a collector, unless the environment says how often to collect. The collector ends when the program sets it otherwise.
func collectGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	c := &collector{garbageFor(0), []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	debug.SetGCPercent(c.percent)
	c.await()
}

// await has the collector look after the next collection: what nobody has is finalized then.
func (c *collector) await() { runtime.SetFinalizer(&struct{ _ [16]byte }{}, func(any) { c.look() }) }

func (c *collector) look() {
	metrics.Read(c.used)
	percent := garbageFor(c.used[0].Value.Uint64())
	if was := debug.SetGCPercent(percent); was != c.percent {
		debug.SetGCPercent(was)
		return
	}
	c.percent = percent
	c.await()
}
