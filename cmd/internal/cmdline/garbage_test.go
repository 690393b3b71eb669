package cmdline

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"fairspool/internal/testenv"
)

func TestGarbageFor(t *testing.T) {
	for used, want := range map[uint64]int{0: 400, 64<<20 - 1: 400, 64 << 20: 200, 200<<20 - 1: 200, 200 << 20: 100, 300 << 20: 50, 1<<64 - 1: 50} {
		if got := garbageFor(used); got != want {
			t.Errorf("with %d bytes in use %d %%, want %d", used, got, want)
		}
	}
}

// TestCollector holds that garbage is collected more often once much is in use, less often again, and otherwise if the program says so.
func TestCollector(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "")
	collectGarbage()
	set := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	percent := func() uint64 {
		runtime.GC()
		metrics.Read(set)
		return set[0].Value.Uint64()
	}
	testenv.Until(t, "400 %, as little is in use", func() bool { return percent() == 400 })
	much := make([]byte, 300<<20)
	testenv.Until(t, "50 %, as 300 MB are in use", func() bool { return percent() == 50 })
	runtime.KeepAlive(much)
	testenv.Until(t, "400 %, as they are so no more", func() bool { return percent() == 400 })
	debug.SetGCPercent(25)
	for range 3 { // collections, with what follows them
		done := make(chan struct{})
		runtime.SetFinalizer(&[16]byte{}, func(*[16]byte) { close(done) })
		runtime.GC()
		<-done
	}
	if got := percent(); got != 25 {
		t.Errorf("the program said 25 %%, and it is %d", got)
	}
}
