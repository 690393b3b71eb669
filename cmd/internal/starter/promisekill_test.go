package starter

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Slots are taken from jobs for others while passes and supervisors are killed at any
// moment; all the same no two jobs are ever on one slot, no promise is lost, and every
// job is run to its end.
func TestSoakPreempted(t *testing.T) {
	length, seed := testenv.Soak(t)
	t.Parallel()
	const slots, atOnce = 2, 5
	p := newPool(t)
	for n := range slots {
		p.advertise(n+1, "Unclaimed", "")
	}
	random := rand.New(rand.NewPCG(seed, 4))
	jobs, killed, preempted := 0, 0, 0
	for end := time.Now().Add(length); killed < leastKills || preempted == 0 || time.Now().Before(end); {
		for n := len(p.queue()); n < atOnce; n++ {
			// The second lock tells jobs that are on one slot together.
			p.submit(p.job(`exec 9>guard.$_CONDOR_SLOT
flock -n 9 || echo $FAIRSPOOL_JOB >>overlaps
` + aMoment + `
echo >>end.$FAIRSPOOL_JOB`))
			jobs++
		}
		preempted += p.deal(slots, func() bool { return random.IntN(3) == 0 })
		killed += p.killDuringPass(random, 60)
	}
	p.until("all jobs have ended", func() bool {
		p.deal(slots, func() bool { return false })
		p.command("-q", "-wait").Run()
		return len(p.queue()) == 0
	})
	if got := p.read("overlaps"); got != "" {
		t.Errorf("jobs %q were on a slot with others", got)
	}
	for n := range jobs {
		id := pool.JobID{Cluster: n + 1}
		if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=0"; got != want || p.read("end."+id.String()) == "" {
			t.Errorf("job %v: %s, want %s and its end reached", id, got, want)
		}
	}
	t.Logf("%d processes killed, %d times a slot was taken for another of %d jobs", killed, preempted, jobs)
	p.starter(0, 0, "-q") // removes the files of attempts that were killed late
	p.noClaims()
}

// submit puts a job into the queue.
func (p *testPool) submit(ad *classad.Ad) (id pool.JobID) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		id.Cluster = tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
		return nil
	})
	return id
}

// deal gives free slots to jobs that wait, and those of running ones where preempt says
// so; how often it did that is the answer.
func (p *testPool) deal(slots int, preempt func() bool) (preempted int) {
	p.Helper()
	var seen lifecycle.Snapshot
	plan := &negotiator.Plan{Submitters: []negotiator.Share{{Name: submitter}}}
	err := p.spool.View(func(v *spool.View) error {
		seen = lifecycle.TakeSnapshot(v, "example.org", nil, policy.Beside{})
		claims := v.Claims()
		if wrong := pool.Contradictions(claims); wrong != nil {
			p.Errorf("Contradictions(%+v) = %+v, want none", claims, wrong)
		}
		on := map[string]pool.Claim{}
		for _, c := range claims {
			on[c.Slot] = c
		}
		n := 0
		for _, j := range seen.Pool.Jobs {
			if _, claimed := v.Claim(j.FirstJob()); claimed {
				continue
			}
			m := negotiator.Match{Job: j.FirstJob(), Submitter: submitter, Weight: accountant.One}
			for found := false; n < slots && !found; n++ {
				m.Slot = fmt.Sprintf("slot%d@node1", n+1)
				holder, held := on[m.Slot]
				if held && holder.State == pool.RunningClaim && preempt() {
					m.Preempts = &negotiator.Preempted{Job: holder.Job, Attempt: holder.Attempt, Submitter: submitter, Weight: accountant.One}
				}
				if found = !held || m.Preempts != nil; found {
					plan.Matches = append(plan.Matches, m)
				}
			}
		}
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
	p.update(func(tx *spool.Tx) error {
		preempted = 0
		for _, m := range lifecycle.Match(tx, plan, seen, matchedAt, params) {
			if m.Preempts != nil {
				preempted++
			}
		}
		return nil
	})
	return preempted
}
