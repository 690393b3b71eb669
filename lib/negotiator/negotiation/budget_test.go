package negotiation

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/pool"
)

// ampleSteps is more than any drawn pool takes.
const ampleSteps = 1 << 40

// planText is all of a plan, but for its Queue.
func planText(t testing.TB, p *negotiator.Plan) string {
	t.Helper()
	r := p.Report(1, now)
	b, err := json.Marshal([]any{r, p.Succession, p.GiveUp, p.Backoffs})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %+v", b, p.Matches)
}

// TestCycleWithinTheBudget holds that steps that are enough change nothing.
func TestCycleWithinTheBudget(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := lawPool(rt, t, rapid.Bool().Draw(rt, "pieces"))
		cfg := anyPie(rt, preempting(t))
		want := planText(t, Cycle(p, cfg, now))
		cfg.Steps = ampleSteps
		p.PutOff = map[string]pool.JobID{"alice@x": {Cluster: 2}, "bob@x": {Cluster: 1, Proc: 1}}
		if got := planText(t, Cycle(p, cfg, now)); got != want {
			rt.Fatalf("with steps: %s\nwithout: %s", got, want)
		}
	})
}

// TestFewStepsAreCounted holds that what a cycle does with too few steps is the same however
// many processors there are, that jobs are put off for that reason alone, and that owners
// take what they have and little more.
func TestFewStepsAreCounted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := lawPool(rt, t, rapid.Bool().Draw(rt, "pieces"))
		cfg := anyPie(rt, preempting(t))
		cfg.Steps = rapid.IntRange(1, 5000).Draw(rt, "steps")
		plan := Cycle(p, cfg, now)
		before := runtime.GOMAXPROCS(1)
		again := Cycle(p, cfg, now)
		runtime.GOMAXPROCS(before)
		if got, want := planText(t, again), planText(t, plan); got != want {
			rt.Fatalf("on one processor: %s\non %d: %s", got, before, want)
		}
		late := map[string]bool{}
		for _, x := range plan.PutOff {
			late[x.Owner] = true
		}
		for _, r := range plan.Rejections {
			if r.Cause == negotiator.CauseSteps && len(late) == 0 && !strings.Contains(r.Reason, "put off to the next cycle") {
				rt.Fatalf("%v", r)
			}
		}
	})
}

// doubling are attributes A0 to An, of which each takes twice the steps of the one before.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString("A0 = 1; ")
	for i := range n {
		fmt.Fprintf(&b, "A%d = MY.A%d + MY.A%d; ", i+1, i, i)
	}
	return b.String()
}

// hostile is a pool in which each of bob's jobs takes many steps, by its Requirements or by
// its Rank, and alice has a few ordinary ones.
func hostile(t testing.TB, jobs, levels int, text string) negotiator.Pool {
	var p negotiator.Pool
	for i := range 40 {
		p.Slots = append(p.Slots, aSlot(t, fmt.Sprintf("slot%d", i+1), fmt.Sprintf("Memory = %d", 1024+i)))
	}
	base := doubling(levels)
	for i := range jobs {
		p.Jobs = append(p.Jobs, aJob(t, i+1, 1, "bob@x", base+fmt.Sprintf(text, levels, i)))
	}
	p.Jobs = append(p.Jobs, aJob(t, jobs+1, 3, "alice@x", "Requirements = TARGET.Memory > 1030; Rank = TARGET.Memory"))
	return p
}

// hostileTexts are jobs' own expressions, with the number of the last attribute and of the job.
var hostileTexts = map[string]struct {
	levels int
	text   string
}{
	"Requirements":         {60, "Requirements = MY.A%d + TARGET.Memory + %d > 0"},
	"shorter Requirements": {12, "Requirements = MY.A%d + TARGET.Memory + %d > 0"},
	"Rank":                 {60, "Rank = MY.A%d + TARGET.Memory + %d"},
	"shorter Rank":         {12, "Rank = MY.A%d + TARGET.Memory + %d"},
	"requests":             {60, "RequestMemory = MY.A%d + %d"},
	"limits":               {60, `ConcurrencyLimits = strcat("a", MY.A%d, %d)`},
}

// TestHostileJobsKeepToTheSteps holds that one owner's expressions take no more than there
// is, and nothing from others; and that all jobs have their turn in one cycle or another.
func TestHostileJobsKeepToTheSteps(t *testing.T) {
	const jobs, steps = 40, 2_000_000
	for name, h := range hostileTexts {
		t.Run(name, func(t *testing.T) {
			p := hostile(t, jobs, h.levels, h.text)
			cfg := defaults(t)
			cfg.Steps = steps
			seen := map[pool.JobID]bool{}
			for cycles := 0; len(seen) < jobs; cycles++ {
				if cycles > jobs {
					t.Fatalf("%d of %d jobs of bob@x were looked at in %d cycles", len(seen), jobs, cycles)
				}
				c := deal.Out(p, cfg, now)
				if got := matched(c.Plan)["alice@x"]; got != 3 {
					t.Fatalf("cycle %d matches %d of alice@x, want 3", cycles, got)
				}
				before := len(seen)
				for _, m := range c.Plan.Matches {
					if m.Submitter == "bob@x" {
						seen[m.Job] = true
						p.Jobs = slices.DeleteFunc(p.Jobs, func(j jobprio.Run) bool { return j.FirstJob() == m.Job })
					}
				}
				for _, q := range c.Submitters[slices.IndexFunc(c.Submitters, func(s *deal.Submitter) bool { return s.Name == "bob@x" })].Queues {
					for _, r := range q.Runs {
						if over := r.Payer.Over(); over > 2*classad.UsualSteps {
							t.Fatalf("%s took %d steps more than the %d that there are", r.Payer.Owner, over, steps)
						}
						seen[r.FirstJob()] = seen[r.FirstJob()] || !q.Cluster.Short
					}
				}
				for id, looked := range seen {
					if !looked {
						delete(seen, id)
					}
				}
				p.PutOff = map[string]pool.JobID{}
				for _, x := range c.Plan.PutOff {
					if x.Owner != "bob@x" {
						t.Fatalf("jobs of %s are put off", x.Owner)
					}
					p.PutOff[x.Owner] = x.First
				}
				if len(seen) == before && len(c.Plan.PutOff) > 0 && cycles > 2 {
					t.Fatalf("cycle %d looked at none of bob@x that was not looked at before, from %v on", cycles, p.PutOff)
				}
			}
		})
	}
}

// TestSharedAutoclusterIsPaidForByWhoCan holds that an owner without steps left keeps nothing
// from others whose jobs are alike.
func TestSharedAutoclusterIsPaidForByWhoCan(t *testing.T) {
	for _, text := range []string{"Requirements = TARGET.Memory > 1030; Rank = TARGET.Memory", "Rank = -TARGET.Memory"} {
		p := negotiator.Pool{Slots: hostile(t, 0, 0, "").Slots, Jobs: []jobprio.Run{aJob(t, 1, 2, "bob@x", text), aJob(t, 2, 2, "alice@x", text)}}
		cfg := defaults(t)
		cfg.Steps = 100_000
		p.Taken = map[string]int{"bob@x": 200_000}
		plan := Cycle(p, cfg, now)
		if got := matched(plan)["alice@x"]; got != 2 {
			t.Errorf("%s: Cycle matches %d of alice@x, want 2", text, got)
		}
		best := Cycle(negotiator.Pool{Slots: p.Slots, Jobs: p.Jobs[1:]}, cfg, now)
		for i, m := range best.Matches {
			if !strings.Contains(fmt.Sprint(plan.Matches), m.Slot) {
				t.Errorf("%s: match %d is %s without bob@x, and none of %v with", text, i, m.Slot, plan.Matches)
			}
		}
	}
}

// BenchmarkHostileJobs is a cycle with 3,000 jobs that take all the steps that there are.
func BenchmarkHostileJobs(b *testing.B) {
	for name, h := range hostileTexts {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			p := hostile(b, 3000, h.levels, h.text)
			cfg := defaults(b)
			cfg.Steps = 100_000_000
			for b.Loop() {
				Cycle(p, cfg, now)
			}
		})
	}
}
