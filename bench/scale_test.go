package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// shape is a large spool: so many clusters of so many equal procs of 1,000
// submitters, one of whom, user0, has 1,000 jobs.
type shape struct {
	name            string
	clusters, procs int
	attributes      int // of a cluster's ad, besides the usual ones
}

var shapes = []shape{
	{"1000x1000", 1000, 1000, 0},
	{"100000x1", 100_000, 1, 40}, // ads of 3 KB
}

// spools are made once, since filling takes its time.
var spools struct {
	sync.Mutex
	dirs map[string]string
}

// large returns a folded spool of a shape, to be changed only in ways that do
// not matter to the others.
func (s shape) large(b *testing.B) string {
	b.Helper()
	return filled(b, s.name)
}

// fill makes the spool in a directory.
func (s shape) fill(b *testing.B, dir string) {
	sp, err := spool.Open(dir, spool.Options{Program: "bench", UIDDomain: "example.org", LockWait: time.Minute})
	testenv.OK(b, err)
	defer sp.Close()
	for done := 0; done < s.clusters; {
		testenv.OK(b, sp.Update(func(tx *spool.Tx) error {
			tx.Op("submit")
			for range min(s.clusters-done, 1000) {
				tx.AddCluster(s.job(b, done), []spool.NewRun{{Count: s.procs}})
				done++
			}
			for i := range 1000 {
				tx.PutSubmitter(accountant.Record{Name: fmt.Sprintf("user%d@example.org", i), Priority: 1 + float64(i), HalfLife: 24 * time.Hour, At: time.Unix(1790000000, 0)})
			}
			return nil
		}))
	}
	if _, err := sp.Fold(1, nil); err != nil {
		b.Fatal(err)
	}
}

// job returns the ad of a cluster. Where clusters have one job, every hundredth
// is user0's; where they have a thousand, one is.
func (s shape) job(b *testing.B, n int) *classad.Ad {
	ad := job(b, n, 20)
	user := n % 1000
	if s.procs == 1 && n%100 == 0 {
		user = 0
	}
	ad.SetString("Owner", fmt.Sprintf("user%d", user))
	ad.SetString("User", fmt.Sprintf("user%d@example.org", user))
	for i := range s.attributes {
		switch name := fmt.Sprintf("SiteAttribute%d", i); i % 4 {
		case 0:
			ad.SetString(name, fmt.Sprintf("/home/user%d/experiment/run%d/input", user, n))
		case 1:
			ad.SetInt(name, int64(n*i))
		default:
			ad.SetString(name, "/data/experiment/common/calibration.dat")
		}
	}
	return ad
}

// resident runs a command on a spool, and returns the most memory that it had.
func resident(b *testing.B, dir, name string, args ...string) (mb float64) {
	b.Helper()
	mb, _ = spent(b, dir, name, args...)
	return mb
}

// spent runs a command on a spool, and returns the most memory that it had and the
// processor time that it took, which on a busy machine says more than the clock.
func spent(b *testing.B, dir, name string, args ...string) (mb float64, processor time.Duration) {
	b.Helper()
	c := exec.Command(filepath.Join(testenv.Commands(b), name), args...)
	c.Env = append(os.Environ(), "FAIRSPOOL_CONFIG=", "FAIRSPOOL_NOW=1800000000", "FAIRSPOOL_DIR="+dir)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		b.Fatalf("%s %v: %v", name, args, err)
	}
	usage, _ := c.ProcessState.SysUsage().(*syscall.Rusage)
	return float64(usage.Maxrss) / 1024, c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

// BenchmarkScale is what single commands cost on spools of a million jobs in a
// thousand clusters, and of a hundred thousand clusters of one job with ads of
// 3 KB.
func BenchmarkScale(b *testing.B) {
	testenv.Commands(b)
	one, many := submitFile(b, "queue"), submitFile(b, "queue 100000")
	for _, s := range shapes {
		last := fmt.Sprintf("%d.0", s.clusters)
		for _, args := range [][]string{
			{"prio", "-p", "5", last},
			{"qstat", "-u", "user0"},
			{"userprio", "-all"},
			{"qstat", "-j", last},
			{"qstat"},
			{"qstat", "-af", "ClusterId", "ProcId", "Owner", "JobStatus"},
			{"negotiate", "-dry-run"},
			{"spool", "check"},
			{"submit", one},
			{"submit", many},
		} {
			words := args
			if args[0] == "submit" {
				words = []string{"submit", map[string]string{one: "one job", many: "100000 procs"}[args[1]]}
			}
			b.Run(fmt.Sprintf("%s/%v", s.name, words), func(b *testing.B) {
				dir := s.large(b)
				most := 0.0
				for b.Loop() {
					most = max(most, resident(b, dir, args[0], args[1:]...))
				}
				b.ReportMetric(most, "MB")
			})
		}
	}
	b.Run("empty/[submit one job]", func(b *testing.B) {
		dir := filepath.Join(testenv.OnDisk(b), "spool")
		resident(b, dir, "submit", one)
		for b.Loop() {
			resident(b, dir, "submit", one)
		}
	})
	b.Run("empty/[submit 100000 procs]", func(b *testing.B) {
		dir := filepath.Join(testenv.OnDisk(b), "spool")
		for b.Loop() {
			resident(b, dir, "submit", many)
		}
	})
}

// BenchmarkFold folds a journal of 1,000 changed jobs into a large spool, and
// says how long writers had to wait.
func BenchmarkFold(b *testing.B) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			dir := s.large(b)
			sp, err := spool.Open(dir, spool.Options{Program: "bench", UIDDomain: "example.org", LockWait: time.Minute})
			testenv.OK(b, err)
			defer sp.Close()
			locked := time.Duration(0)
			for b.Loop() {
				testenv.OK(b, sp.Update(func(tx *spool.Tx) error {
					tx.Op("set priority")
					for id := 1; id <= 1000; id++ {
						tx.SetRange(pool.Procs{Cluster: id, First: 0, Last: 0}, "JobPrio", classad.Literal(classad.Int(int64(b.N))))
					}
					return nil
				}))
				done, err := sp.Fold(1, nil)
				testenv.OK(b, err)
				locked = max(locked, done.Locked)
			}
			b.ReportMetric(float64(locked.Microseconds())/1000, "ms-locked")
		})
	}
}

// BenchmarkSync is the machine's: a line appended to a file and synced. It is in
// every figure of a command that changes something.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(testenv.OnDisk(b), "file"))
	testenv.OK(b, err)
	defer f.Close()
	for b.Loop() {
		if _, err := f.WriteString("a line of a journal, or so\n"); err != nil {
			b.Fatal(err)
		}
		testenv.OK(b, f.Sync())
	}
}
