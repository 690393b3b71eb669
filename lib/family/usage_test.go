package family

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// What /proc says of this process lies between what the kernel says before and after.
func TestReadProcess(t *testing.T) {
	for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
		_ = strings.Repeat("x", 1000)
	}
	total := func() time.Duration {
		var sum time.Duration
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			testenv.OK(t, syscall.Getrusage(who, &u))
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		return sum
	}
	before := total()
	got, ok := readProcess(os.Getpid())
	after := total()
	const unit = 4 * tick // each of four numbers is cut
	if cpu := got.user + got.system; !ok || cpu < before-unit || cpu > after+unit {
		t.Errorf("readProcess = %v of processor time, want %v to %v", cpu, before, after)
	}
	if got.rssKB < 1000 || got.parent != os.Getppid() || got.threads < 2 || !got.alive() {
		t.Errorf("readProcess = %+v, want a living child of %d with 1000 KB and 2 threads at least", got, os.Getppid())
	}
	if got, ok := readProcess(0); ok {
		t.Errorf("readProcess of no process = %+v, want none", got)
	}
}

// Processor time counts of those that run, of those that were waited for, and of
// orphans that nobody but us waits for.
func TestUsageTimes(t *testing.T) {
	const burn = `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done`
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			f := open(t, kind.base)
			job := f.start(`mkfifo done; (` + burn + `); (sh -c 'echo $$ >orphan; ` + burn + `; echo >done' &); ` + burn + `; read line <done; >ready; exec $S`)
			f.sleepers(1)
			orphan := f.pidIn("orphan")
			testenv.Until(t, "the orphan is reaped, which makes its time count", func() bool { return syscall.Kill(orphan, 0) == syscall.ESRCH })
			first := f.Usage()
			job.Process.Kill()
			job.Wait()
			testenv.OK(t, f.Family.End(testenv.Longest))
			last := f.Usage()
			if first.Processes != 1 || last.Processes != 0 {
				t.Errorf("Usage = %d processes, then %d, want 1 and 0", first.Processes, last.Processes)
			}
			var u syscall.Rusage
			testenv.OK(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
			want := time.Duration(u.Utime.Nano() + u.Stime.Nano() - f.before.Utime.Nano() - f.before.Stime.Nano())
			const unit = 8 * tick // each of the eight numbers of two processes is cut
			for _, x := range []struct {
				when string
				got  time.Duration
			}{{"while it runs", first.User + first.System}, {"at the end", last.User + last.System}} {
				if x.got < want-unit || x.got > want+unit {
					t.Errorf("Usage %s = %v of processor time, want %v", x.when, x.got, want)
				}
			}
			if err := f.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if got := f.Usage(); got.User < last.User || got.Processes != 0 {
				t.Errorf("Usage after Close = %+v, want what it was: %+v", got, last)
			}
		})
	}
}

// Memory that processes share counts for each of them, but near a limit only once.
func TestUsageMemory(t *testing.T) {
	const mb = 40
	const idle = `(read line <never) & `
	f := open(t, "")
	job := f.start(`mkfifo never; x=$(head -c 40M /dev/zero | tr '\0' a); ` + idle + idle + `>ready; wait`)
	plain := f.Usage()
	if plain.Exact || plain.RSSKB < 3*mb<<10 || plain.Processes < 3 {
		t.Errorf("Usage = %+v, want the resident sets of 3 processes with %d MB each", plain, mb)
	}
	f.options.MemoryMB = mb
	f.last = Usage{}
	u := f.Usage()
	if !u.Exact || u.RSSKB < mb<<10 || u.RSSKB > plain.RSSKB/2 || u.PeakKB != u.RSSKB {
		t.Errorf("Usage near a limit = %+v, want %d MB at least and half of %d KB at most", u, mb, plain.RSSKB)
	}
	job.Process.Kill()
	job.Wait()
	testenv.OK(t, f.Family.End(testenv.Longest))
	if last := f.Usage(); last.RSSKB != 0 || last.PeakKB != u.PeakKB {
		t.Errorf("Usage at the end = %+v, want no memory and a peak of %d KB", last, u.PeakKB)
	}
}

// With a look that takes long the next has to wait, and the last one counts until then.
func TestSparing(t *testing.T) {
	f := &Family{options: Options{MemoryMB: 1}, shared: shared{kb: 7, at: time.Now(), cost: time.Hour}}
	list := []process{{pid: -1, rssKB: 1 << 20}, {pid: -2, rssKB: 1 << 20}}
	var u Usage
	if f.memory(&u, list); u.RSSKB != 7 || !u.Exact {
		t.Errorf("memory soon after a look = %d KB, want that one's 7", u.RSSKB)
	}
	f.shared.cost, u = 0, Usage{}
	if f.memory(&u, list); u.RSSKB != 2<<20 {
		t.Errorf("memory of processes whose sharing is not known = %d KB, want %d", u.RSSKB, 2<<20)
	}
	u = Usage{}
	if f.memory(&u, list[:1]); u.RSSKB != 1<<20 || u.Exact {
		t.Errorf("memory of one process = %d KB, want its resident set of %d", u.RSSKB, 1<<20)
	}
}

// What is written to a disk counts while its process lives, and afterwards.
func TestUsageTransfers(t *testing.T) {
	f := open(t, "")
	var fs syscall.Statfs_t
	testenv.OK(t, syscall.Statfs(f.dir, &fs))
	const tmpfs = 0x01021994
	if int64(fs.Type) == tmpfs {
		t.Skip("the test's directory is in memory")
	}
	job := f.start(`dd if=/dev/zero of=file bs=1M count=8 conv=fsync 2>/dev/null; >ready; $S`)
	u := f.Usage()
	if u.WrittenBytes < 8<<20 {
		t.Errorf("Usage = %d bytes written, want %d at least", u.WrittenBytes, 8<<20)
	}
	job.Process.Kill()
	job.Wait()
	testenv.OK(t, f.Family.End(testenv.Longest))
	if last := f.Usage(); last.WrittenBytes < u.WrittenBytes {
		t.Errorf("Usage at the end = %d bytes written, want %d at least", last.WrittenBytes, u.WrittenBytes)
	}
}

// processorTime returns what reports the processor time of this process since now.
func processorTime(b *testing.B) (report func()) {
	total := func() int64 {
		var u syscall.Rusage
		testenv.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := total()
	return func() { b.ReportMetric(float64(total()-before)/float64(b.N), "cpu-ns/op") }
}

// A look at a job of five processes.
func BenchmarkUsage(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			f := Open(Options{Name: "bench-" + strconv.Itoa(os.Getpid()), Base: kind.base})
			job, err := begin(f, `sleep 1000 & sleep 1000 & sleep 1000 & sleep 1000 & wait`)
			testenv.OK(b, err)
			testenv.Until(b, "the job has five processes", func() bool { return f.Usage().Processes >= 5 })
			cpu := processorTime(b)
			for b.Loop() {
				f.Usage()
			}
			cpu()
			job.Process.Kill()
			job.Wait()
			if err := f.End(testenv.Longest); err != nil {
				b.Error(err)
			}
			f.Close()
			if f.cell != nil {
				os.Remove(filepath.Dir(f.cell.dir))
			}
		})
	}
}

// What a job costs that leaves nothing behind.
func BenchmarkOpenEndClose(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			defer processorTime(b)()
			for b.Loop() {
				f := Open(Options{Name: "bench-" + strconv.Itoa(os.Getpid()), Base: kind.base, MemoryMB: 100})
				f.End(time.Second)
				f.Close()
			}
		})
	}
}
