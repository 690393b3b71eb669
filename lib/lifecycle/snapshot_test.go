package lifecycle

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/jobad"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// snapshot takes one with everything beside.
func (b bench) snapshot() (seen Snapshot) {
	b.t.Helper()
	b.view(func(v *spool.View) {
		seen = TakeSnapshot(v, b.s.Domain(), nil, policy.Beside{Running: true, Held: true})
	})
	return seen
}

// facts returns EligibleSince and BypassCount of the procs of cluster 1.
func (b bench) facts() (list []string) {
	b.t.Helper()
	for proc := range 4 {
		id := pool.JobID{Cluster: 1, Proc: proc}
		list = append(list, b.attribute(id, pool.AttrEligibleSince)+" "+b.attribute(id, pool.AttrBypassCount))
	}
	return list
}

// TestQueueFacts holds what applying a plan leaves in jobs, and that what changed since the
// snapshot is left as it is.
func TestQueueFacts(t *testing.T) {
	b := newBench(t)
	b.setOf(pool.JobID{Cluster: 1, Proc: 1}, pool.AttrBypassCount, "4")
	plan := &negotiator.Plan{
		Clocks: []negotiator.Clock{
			{Procs: pool.Procs{Cluster: 1, First: 0, Last: 2}, Since: 1000}, {Procs: pool.Procs{Cluster: 1, First: 3, Last: 3}},
			{Procs: pool.Procs{Cluster: 9, First: 0, Last: 3}, Since: 7},
		},
		Passed:  []negotiator.Passed{{Procs: pool.Procs{Cluster: 1, First: 0, Last: 3}, Times: 2}},
		Matches: []negotiator.Match{{Job: first, Submitter: "alice@example.org", Slot: "slot1@here", Weight: accountant.One, QOS: "HIGH", PE: 2.5}},
	}
	seen := b.snapshot()
	b.update(func(tx *spool.Tx) error { Match(tx, plan, seen, noon, params); return nil })
	if got, want := b.facts(), []string{"1000 2", "1000 6", "1000 2", "0 2"}; !slices.Equal(got, want) {
		t.Errorf("EligibleSince and BypassCount = %q, want %q", got, want)
	}
	b.view(func(v *spool.View) {
		if c, _ := v.Claim(first); c.By.QOS != "HIGH" || c.By.PE != 2.5 {
			t.Errorf("charged for QOS %q, %v PE, want HIGH, 2.5", c.By.QOS, c.By.PE)
		}
		if y, ok := v.Tally(accountant.Key{Kind: accountant.KindQOS, Name: "HIGH"}); !ok || y.Cpus != 1 {
			t.Errorf("the tally of the QOS is %+v, want 1 processor", y)
		}
	})
	seen = b.snapshot()
	b.setOf(pool.JobID{Cluster: 1, Proc: 2}, pool.AttrJobPrio, "3")
	plan.Matches, plan.Clocks[0].Since = nil, 2000
	b.update(func(tx *spool.Tx) error { Match(tx, plan, seen, noon, params); return nil })
	if got, want := b.facts(), []string{"2000 4", "2000 8", "1000 2", "0 4"}; !slices.Equal(got, want) {
		t.Errorf("after 1.2 changed = %q, want %q", got, want)
	}
	b.setOf(pool.JobID{Cluster: 1, Proc: 0}, pool.AttrBypassCount, "9223372036854775807")
	seen = b.snapshot()
	b.update(func(tx *spool.Tx) error { Match(tx, plan, seen, noon, params); return nil })
	if got := b.attribute(first, pool.AttrBypassCount); got != "9223372036854775807" {
		t.Errorf("BypassCount beyond all numbers = %s", got)
	}
}

// TestPassedByNobody: a match that does not come about, since its job changed meanwhile, has
// passed no other.
func TestPassedByNobody(t *testing.T) {
	b := newBench(t)
	proc := func(n int) pool.JobID { return pool.JobID{Cluster: 1, Proc: n} }
	match := func(n int, slot string) negotiator.Match {
		return negotiator.Match{Job: proc(n), Submitter: "alice@example.org", Slot: slot, Weight: accountant.One}
	}
	plan := &negotiator.Plan{
		Matches: []negotiator.Match{match(3, "slot1@here"), match(2, "slot2@here")},
		Passed: []negotiator.Passed{{Procs: pool.Procs{Cluster: 1, First: 0, Last: 0}, Times: 2},
			{Procs: pool.Procs{Cluster: 1, First: 1, Last: 1}, Times: 1}},
		Passing: []pool.JobID{proc(2), proc(3)},
	}
	seen := b.snapshot()
	b.setOf(proc(3), pool.AttrJobPrio, "3")
	b.update(func(tx *spool.Tx) error { Match(tx, plan, seen, noon, params); return nil })
	if got, want := b.facts(), []string{"none 1", "none none", "none none", "none none"}; !slices.Equal(got, want) {
		t.Errorf("EligibleSince and BypassCount = %q, want %q", got, want)
	}
}

// TestQueueFactsLaw: whatever the runs are cut like, each proc that is unchanged has what the
// plan says, and the others have what they had.
func TestQueueFactsLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		var want [4]string
		touch := func(label string) (changed [4]bool) {
			for proc := range 4 {
				if !rapid.Bool().Draw(rt, fmt.Sprint(label, proc)) {
					continue
				}
				n := rapid.IntRange(0, 2).Draw(rt, "count")
				b.setOf(pool.JobID{Cluster: 1, Proc: proc}, pool.AttrBypassCount, fmt.Sprint(n))
				want[proc], changed[proc] = fmt.Sprint(n), true
			}
			return changed
		}
		touch("before")
		seen := b.snapshot()
		changed := touch("after")
		plan := &negotiator.Plan{}
		for proc := 0; proc < 4; {
			p := pool.Procs{Cluster: 1, First: proc, Last: rapid.IntRange(proc, 3).Draw(rt, "last")}
			times := rapid.IntRange(1, 2).Draw(rt, "times")
			plan.Passed = append(plan.Passed, negotiator.Passed{Procs: p, Times: times})
			for ; proc <= p.Last; proc++ {
				if !changed[proc] {
					n := 0
					fmt.Sscan(want[proc], &n)
					want[proc] = fmt.Sprint(n + times)
				}
			}
		}
		b.update(func(tx *spool.Tx) error { Match(tx, plan, seen, noon, params); return nil })
		for proc, w := range want {
			if got := b.attribute(pool.JobID{Cluster: 1, Proc: proc}, pool.AttrBypassCount); got != w {
				rt.Errorf("BypassCount of 1.%d = %s, want %s", proc, got, w)
			}
		}
	})
}

// TestBeside holds which jobs a snapshot has besides the idle ones, and since when they run.
func TestBeside(t *testing.T) {
	b := newBench(t)
	b.submit("bob", 3, "JobStatus = 5")
	b.submit("carol", 1, `AfterOk = "1"; DependenciesMet = false`)
	b.negotiate(noon, nil)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon.Add(time.Second), os.Getpid(), "", params) })
	b.update(func(tx *spool.Tx) error { // 1.0 is held, and has not left its slot
		tx.Op("hold")
		_, err := Hold(tx, pool.Only(first), pool.Reason{Text: "why not"}, noon.Add(time.Minute), params)
		return err
	})
	words := func(seen Snapshot) string {
		var list []string
		for _, r := range seen.Pool.Running {
			list = append(list, fmt.Sprintf("%v %s %v", r.FirstJob(), r.Submitter, r.Started.Sub(noon)))
		}
		for _, j := range seen.Pool.Held {
			list = append(list, fmt.Sprintf("%v x%d %s", j.FirstJob(), j.Count(), j.Submitter))
		}
		return strings.Join(list, ", ")
	}
	const want = "1.0 alice@example.org 1s, 1.1 alice@example.org 0s, 2.0 x3 bob@example.org, 3.0 x1 carol@example.org"
	if got := words(b.snapshot()); got != want {
		t.Errorf("beside the idle jobs are %s, want %s", got, want)
	}
	b.view(func(v *spool.View) {
		if got := words(TakeSnapshot(v, b.s.Domain(), nil, policy.Beside{})); got != "" {
			t.Errorf("without being asked for: %s", got)
		}
	})
	// A claim in the middle of equal held procs cuts them.
	b.update(func(tx *spool.Tx) error {
		tx.Op("claim")
		tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 2, Proc: 1}, Attempt: 1, Slot: "slot9@here", Submitter: "bob@example.org", State: pool.Matched, MatchedAt: noon})
		return nil
	})
	const cut = "1.0 alice@example.org 1s, 1.1 alice@example.org 0s, 2.1 bob@example.org 0s, 2.0 x1 bob@example.org, 2.2 x1 bob@example.org, 3.0 x1 carol@example.org"
	if got := words(b.snapshot()); got != cut {
		t.Errorf("beside the idle jobs are %s, want %s", got, cut)
	}
}

// The runs of very many procs share one list of attributes, which does not grow
// step by step.
func TestRunsOfManyProcsShareOneList(t *testing.T) {
	cost := func(procs int) float64 {
		t.Helper()
		d, _, err := submitfile.Parse(fmt.Sprintf("executable = /bin/sleep\nrequest_memory = 1000 + $(Process)\nqueue %d\n", procs), "a.sub", submitfile.Options{Dir: "/"})
		testenv.OK(t, err)
		jobs, _, err := jobad.New(d, jobad.Options{Owner: "alice", Domain: "example.org", Dir: "/"})
		testenv.OK(t, err)
		c, err := jobs.Expand(1)
		testenv.OK(t, err)
		return testing.AllocsPerRun(3, func() { newRuns(c) }) - float64(procs) // an expression for each
	}
	if few, many := cost(100), cost(3000); many > few {
		t.Errorf("newRuns allocates %v times for 3,000 procs and %v times for 100, besides the expressions, want no more", many, few)
	}
}
