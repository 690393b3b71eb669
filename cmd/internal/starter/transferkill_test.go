package starter

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// Whatever is killed while jobs transfer files, every output is there as a whole in
// the end, none ever in part, and no scratch directory is left.
func TestSoakTransferKilled(t *testing.T) {
	length, seed := testenv.Soak(t)
	t.Parallel()
	const atOnce = 3
	p := newPool(t)
	random := rand.New(rand.NewPCG(seed, 3))
	whole := strings.Repeat("0123456789abcdef", 1<<16)
	p.write("data", whole)
	jobs, killed := 0, 0
	for end := time.Now().Add(length); killed < leastKills || time.Now().Before(end); {
		for n := len(p.queue()); n < atOnce; n++ {
			p.match(`cat data >result; mkdir ro; echo x >ro/x; chmod 500 ro; `+aMoment, "TransferInput", `"data"`,
				"TransferOutput", `"result"`, "TransferOutputRemaps", fmt.Sprintf(`"result = result.%d"`, jobs))
			jobs++
		}
		p.rematch()
		killed += p.killDuringPass(random, 120)
		p.complete(jobs, len(whole))
	}
	p.drain()
	if n := p.complete(jobs, len(whole)); n != jobs {
		t.Errorf("%d of %d outputs are there", n, jobs)
	}
	for n := range jobs {
		if got, want := p.history(pool.JobID{Cluster: n + 1}, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=0"; got != want {
			t.Errorf("job %d.0: %s, want %s", n+1, got, want)
		}
	}
	p.starter(0, 0, "-q") // removes what attempts left that were killed late
	p.nothingLeft()
	hidden, _ := filepath.Glob(filepath.Join(p.dir, ".fairspool-*"))
	t.Logf("%d processes killed, %d jobs, %d copies without a place", killed, jobs, len(hidden))
}

// complete returns how many outputs are there, and holds that they are whole.
func (p *testPool) complete(jobs, size int) (there int) {
	p.Helper()
	for n := range jobs {
		info, err := os.Stat(filepath.Join(p.dir, fmt.Sprintf("result.%d", n)))
		if err != nil {
			continue
		}
		if there++; info.Size() != int64(size) {
			p.Errorf("output %d has %d bytes, want none or %d", n, info.Size(), size)
		}
	}
	return there
}
