package starter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Jobs are held and released, wait for a time of their own, leave by their own policy
// and run once more, while passes and supervisors are killed at any moment; all the same
// every job is run to its end, and no two attempts of one overlap.
func TestSoakSteered(t *testing.T) {
	length, seed := testenv.Soak(t)
	t.Parallel()
	const atOnce = 4
	p := newPool(t)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nPERIODIC_EXPR_INTERVAL = 0.03\n")
	random := rand.New(rand.NewPCG(seed, 6))
	jobs, killed, held := 0, 0, 0
	for end := time.Now().Add(length); killed < leastKills || held == 0 || time.Now().Before(end); {
		for n := len(p.queue()); n < atOnce; n++ {
			p.match(`exec 9>guard.$FAIRSPOOL_JOB
flock -n 9 || echo $FAIRSPOOL_JOB >>overlaps
`+aMoment+`
[ -e once.$FAIRSPOOL_JOB ] || { echo >once.$FAIRSPOOL_JOB; exit 1; }
echo >>end.$FAIRSPOOL_JOB`, p.moods(jobs)...)
			jobs++
		}
		p.rematch()
		held += p.steer(random)
		killed += p.killDuringPass(random, 150)
	}
	p.until("all jobs have ended", func() bool {
		for _, id := range p.queue() {
			p.release(id)
		}
		p.rematch()
		p.command("-q", "-wait").Run()
		return len(p.queue()) == 0
	})
	if got := p.read("overlaps"); got != "" {
		t.Errorf("attempts overlapped of jobs %q", got)
	}
	for n := range jobs {
		id := pool.JobID{Cluster: n + 1}
		if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=0"; got != want || p.read("end."+id.String()) == "" {
			t.Errorf("job %v: %s, want %s and its end reached", id, got, want)
		}
	}
	if got := strings.Count(p.allHistory(), "ClusterId = "); got != jobs {
		t.Errorf("%d jobs have left the queue %d times, want once each", jobs, got)
	}
	t.Logf("%d processes killed, %d jobs held %d times", killed, jobs, held)
	p.starter(0, 0, "-q") // removes the files of attempts that were killed late
	p.noClaims()
	p.until("no process is left", func() bool { return len(p.processes()) == 0 })
}

// moods returns what the n-th job wants besides running: all of them once more when they
// fail, some a time of their own, some to leave their slot the first time.
func (p *testPool) moods(n int) []string {
	pairs := []string{"OnExitRemove", "ExitCode =?= 0", "JobMaxVacateTime", "0.05"}
	switch n % 3 {
	case 1:
		at := matchedAt.Unix() + 61 // passes think that it is a second before
		pairs = append(pairs, "DeferralTime", fmt.Sprint(at), "DeferralWindow", "1000000")
	case 2:
		pairs = append(pairs, "PeriodicVacate", "NumJobStarts % 3 == 1 && RemoteWallClockTime > 0.05", "AllowedJobDuration", "1000")
	}
	return pairs
}

// steer releases what is held, and holds one job of eight; how many that were is the
// answer.
func (p *testPool) steer(random *rand.Rand) (held int) {
	p.Helper()
	for _, id := range p.queue() {
		switch p.queued(id, "JobStatus") {
		case "JobStatus=5":
			p.release(id)
		case "JobStatus=1", "JobStatus=2":
			if random.IntN(8) == 0 && p.holdIfThere(id) {
				held++
			}
		}
	}
	return held
}

// holdIfThere holds a job unless it has ended meanwhile.
func (p *testPool) holdIfThere(id pool.JobID) (held bool) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		ad, there := tx.Job(id)
		if held = there && statusOf(ad) != pool.Held; !held {
			return nil
		}
		tx.Op("hold", id.String())
		_, err := lifecycle.Hold(tx, pool.Only(id), pool.Reason{Text: "held by alice", Code: jobpolicy.ByUser}, matchedAt, params)
		return err
	})
	return held
}

// What a dead supervisor's job was waiting for comes again for the next one.
func TestKilledWhileItWaits(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	at := classad.Int(matchedAt.Unix() + 61).String()
	id := p.match(`echo in >>starts`, "DeferralTime", classad.Int(matchedAt.Unix()+100000).String())
	c := p.running(id)
	testenv.OK(t, syscall.Kill(c.PID, syscall.SIGKILL))
	p.until("the supervisor is dead", func() bool { return !alive(c.PID) })
	p.starter(0, 0)
	if got, want := p.queued(id, "JobStatus", "VacateReasonCode"), "JobStatus=1 VacateReasonCode=1002"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	p.update(func(tx *spool.Tx) error {
		tx.Op("edit")
		e, err := classad.ParseExpr(at)
		tx.Set(id, "DeferralTime", e)
		return err
	})
	p.rematch()
	p.starter(0, 1, "-wait")
	if got, want := p.read("starts"), "in\n"; got != want {
		t.Errorf("starts = %q, want %q", got, want)
	}
	p.noClaims()
}
