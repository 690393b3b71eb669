package cmdline

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"fairspool/internal/testenv"
)

func TestGarbageFor(t *testing.T) {
	for used, want := range map[uint64]int{0: 400, 64<<20 - 1: 400, 64 << 20: 200, 200<<20 - 1: 200, 200 << 20: 100, 300 << 20: 50, 1<<64 - 1: 50} {
		if got := garbageFor(used); got != want {
			t.Errorf("with %d bytes in use %d %%, want %d", used, got, want)
		}
	}
}

// garbage is where the compiler cannot leave out what TestCollector allocates.
var garbage []byte

// TestCollector holds that garbage is collected more often once much is in use, less often again, and otherwise if the program says so.
func TestCollector(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "")
	collectGarbage()
	set := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/heap/live:bytes"}}
	seen := func() uint64 {
		metrics.Read(set)
		return set[0].Value.Uint64()
	}
	percent := func() uint64 {
		runtime.GC()
		return seen()
	}
	testenv.Until(t, "400 %, as little is in use", func() bool {
		garbage = make([]byte, 8<<20)
		return seen() == 400
	})
	if live := set[1].Value.Uint64(); live > room/2 {
		t.Errorf("%d bytes are in use, with the room", live)
	}
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

// TestRoom holds that the next memory of a program is in a region for which the kernel was asked for large pages.
func TestRoom(t *testing.T) {
	if !mayAsk() {
		t.Skipf("%s does not say [madvise]", largePages)
	}
	if !makeRoom() {
		t.Skip("the machine, or a limit of this process, counts memory that is not used")
	}
	runtime.GC()
	const pieces = 128
	var kept [pieces][]byte
	for i := range kept {
		kept[i] = make([]byte, 1<<20)
	}
	inside, asked := 0, advised(t)
	for i := range kept {
		if asked(uintptr(unsafe.Pointer(&kept[i][0]))) {
			inside++
		}
	}
	runtime.KeepAlive(kept)
	if inside < pieces/2 {
		t.Errorf("%d of %d MB are in large pages", inside, pieces)
	}
}

// advised returns a function that reports whether the kernel was asked for large pages at an address.
func advised(t *testing.T) func(uintptr) bool {
	f, err := os.Open("/proc/self/smaps")
	testenv.OK(t, err)
	defer f.Close()
	var regions [][2]uintptr
	var region [2]uintptr
	for s := bufio.NewScanner(f); s.Scan(); {
		var from, to uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &from, &to); n == 2 {
			region = [2]uintptr{from, to}
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags: "); ok && strings.Contains(flags+" ", "hg ") {
			regions = append(regions, region)
		}
	}
	return func(address uintptr) bool {
		return slices.ContainsFunc(regions, func(r [2]uintptr) bool { return r[0] <= address && address < r[1] })
	}
}
