package starter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// leastKills is how many kills a test of make soak waits for, however short it is.
const leastKills = 20

// aMoment is what jobs of make soak do while others are killed: it decides no verdict.
const aMoment = `sleep 0.1`

// Passes and supervisors are killed at any moment; all the same every job is
// run to its end, no two attempts of one overlap, and nothing is left behind.
func TestSoakKilled(t *testing.T) {
	length, seed := testenv.Soak(t)
	t.Parallel()
	const atOnce = 4
	p := newPool(t)
	random := rand.New(rand.NewPCG(seed, 2))
	jobs, killed := 0, 0
	for end := time.Now().Add(length); killed < leastKills || time.Now().Before(end); {
		for n := len(p.queue()); n < atOnce; n++ {
			// The second lock tells attempts that overlap: all processes of an
			// attempt hold it until they have gone.
			p.match(`exec 9>guard.$FAIRSPOOL_JOB
flock -n 9 || echo $FAIRSPOOL_JOB >>overlaps
` + aMoment + `
echo >>end.$FAIRSPOOL_JOB`)
			jobs++
		}
		p.rematch()
		killed += p.killDuringPass(random, 40)
	}
	p.drain()
	if got := p.read("overlaps"); got != "" {
		t.Errorf("attempts overlapped of jobs %q", got)
	}
	again := 0
	for n := range jobs {
		id := pool.JobID{Cluster: n + 1}
		if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=0"; got != want {
			t.Errorf("job %v: %s, want %s", id, got, want)
		}
		if p.read("end."+id.String()) == "" {
			t.Errorf("job %v never reached its end", id)
		}
		if p.history(id, "NumJobStarts") != "NumJobStarts=1" {
			again++
		}
	}
	t.Logf("%d processes killed, %d of %d jobs started more than once", killed, again, jobs)
	if got := strings.Count(p.allHistory(), "ClusterId = "); got != jobs {
		t.Errorf("%d jobs have left the queue %d times, want once each", jobs, got)
	}
	p.starter(0, 0, "-q") // removes the files of attempts that were killed late
	p.noClaims()
	p.until("no process is left", func() bool { return len(p.processes()) == 0 })
}

// queue returns the jobs that have not ended.
func (p *testPool) queue() (ids []pool.JobID) {
	p.Helper()
	err := p.spool.View(func(v *spool.View) error {
		for id := range v.Jobs() {
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
	return ids
}

// rematch matches every job that has no claim and is not held.
func (p *testPool) rematch() {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("match")
		for id, ad := range tx.Jobs() {
			if _, claimed := tx.Claim(id); claimed || statusOf(ad) == pool.Held {
				continue
			}
			number, err := strconv.Atoi(strings.TrimPrefix(cmdtest.Attributes(ad, []string{"NumJobMatches"}), "NumJobMatches="))
			if err != nil {
				number = 1
			}
			number++
			tx.Set(id, "NumJobMatches", classad.Literal(classad.Int(int64(number))))
			tx.PutClaim(pool.Claim{
				Job: id, Attempt: number, Slot: fmt.Sprintf("slot%d@node1", id.Cluster), Machine: "node1",
				Submitter: submitter, State: pool.Matched, Weight: accountant.One, MatchedAt: matchedAt,
			})
			r, _ := tx.Submitter(submitter)
			tx.PutSubmitter(r.Start(matchedAt, accountant.One, params))
		}
		return nil
	})
}

// processes returns the ids of the passes and supervisors that work on the
// pool. What a supervisor has started and does not execute the job yet looks
// like the supervisor, but is the job: if that is killed, it has ended.
func (p *testPool) processes() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(b, []byte("-spool\x00"+p.spool.Dir()+"\x00")) || ofSupervisor(filepath.Dir(name)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ofSupervisor reports whether the parent of the process with that folder in /proc
// is a supervisor.
func ofSupervisor(dir string) bool {
	stat, _ := os.ReadFile(dir + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return false
	}
	parent, _ := os.ReadFile("/proc/" + fields[1] + "/cmdline")
	return bytes.Contains(parent, []byte("\x00-supervise\x00"))
}

// killDuringPass starts a pass, kills one of the processes of the pool in less than so many
// milliseconds, and returns how many that were: none if there was nobody.
func (p *testPool) killDuringPass(random *rand.Rand, within int) (killed int) {
	p.Helper()
	pass := p.command("-q")
	if err := pass.Start(); err != nil {
		p.Fatal(err)
	}
	end := time.Now().Add(time.Duration(random.IntN(within)) * time.Millisecond)
	p.until("the time for a kill has come", func() bool { return time.Now().After(end) })
	if victims := p.processes(); len(victims) > 0 {
		syscall.Kill(victims[random.IntN(len(victims))], syscall.SIGKILL)
		killed++
	}
	pass.Wait() // what it says depends on what was hit
	return killed
}

// A pass that is killed before its supervisor answers does the job no harm.
func TestPassKilled(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exit 4`)
	pass := p.command("-q")
	pass.Env = append(pass.Env, fmt.Sprintf("%s=%s %s %s", dallies, stepLogged, filepath.Join(p.dir, "dallies"), filepath.Join(p.dir, "on")))
	testenv.OK(t, pass.Start())
	p.until("the supervisor is about to answer", func() bool { return p.read("dallies") != "" })
	pass.Process.Kill()
	pass.Wait()
	p.write("on", "")
	p.noClaims()
	if got, want := p.history(id, "JobStatus", "ExitCode", "NumJobStarts"), "JobStatus=4 ExitCode=4 NumJobStarts=1"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	p.nothingLeft()
}
