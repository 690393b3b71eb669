package negotiation

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// somePool draws a pool with a few submitters, shapes and kinds of slot.
// When plain, all slots are alike and take every job.
func somePool(t *rapid.T, outer testing.TB, plain bool) negotiator.Pool {
	names := []string{"alice@x", "bob@x", "carol@x", "nice-user.alice@x", "bob@y"}
	var p negotiator.Pool
	slotKinds := []string{"", "Memory = 2048", "Cpus = 2", "HasGPU = true", `State = "Owner"`, `State = "Claimed"; RemoteUser = "bob@x"`, "KFlops = 500"}
	jobKinds := []string{"", "RequestMemory = 2000", "Rank = TARGET.Cpus", "Requirements = TARGET.HasGPU", "Requirements = TARGET.Cpus > ProcId % 3",
		"JobPrio = 5", "RequestCpus = 2", "Requirements = false"}
	if plain {
		slotKinds, jobKinds = slotKinds[:1], jobKinds[:1]
	}
	for i := range rapid.IntRange(0, 25).Draw(t, "slots") {
		p.Slots = append(p.Slots, aSlot(outer, fmt.Sprintf("slot%d", i+1), rapid.SampledFrom(slotKinds).Draw(t, "slot")))
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "runs") {
		p.Jobs = append(p.Jobs, aJob(outer, i+1, rapid.IntRange(1, 15).Draw(t, "count"), rapid.SampledFrom(names).Draw(t, "submitter"),
			rapid.SampledFrom(jobKinds).Draw(t, "job")))
	}
	for _, n := range names {
		p.Submitters = append(p.Submitters, record(n, rapid.SampledFrom([]float64{0.5, 1, 2, 5, 10, 20, 77}).Draw(t, "rup")))
	}
	for i := range p.Slots {
		if rapid.IntRange(0, 4).Draw(t, "claimed") == 0 {
			p.Claims = append(p.Claims, pool.Claim{
				Job: pool.JobID{Cluster: rapid.IntRange(1, 6).Draw(t, "cluster"), Proc: i}, Attempt: 1, Slot: p.Slots[i].Name,
				Submitter: rapid.SampledFrom(names).Draw(t, "holder"), Weight: accountant.One,
				State:     rapid.SampledFrom([]pool.ClaimState{pool.Matched, pool.RunningClaim}).Draw(t, "state"),
				MatchedAt: now.Add(-time.Duration(rapid.IntRange(0, 240).Draw(t, "age")) * time.Second),
			})
		}
	}
	return p
}

// asJSON returns a plan as a text, with what its JSON does not say: the numbers of clocks and of
// jobs that were passed over, and priorities that are not known.
func asJSON(t *rapid.T, p *negotiator.Plan) string {
	besides := fmt.Sprint(p.Clocks, p.Passed)
	known := *p
	known.Rejections = slices.Clone(p.Rejections)
	for i := range known.Rejections {
		if r := &known.Rejections[i]; math.IsNaN(r.Priority) {
			r.Priority = 0
			besides += fmt.Sprintf("\nthe priority of %s is not known", r.Job)
		}
	}
	text, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + besides
}

// A run of equal procs is the same as its procs one by one.
func TestRunsAreTheirProcs(t *testing.T) {
	cfg := defaults(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := somePool(rt, t, false)
		want := Cycle(p, cfg, now)
		q := p
		q.Jobs = jobprio.Singly(p.Jobs)
		if got := Cycle(q, cfg, now); asJSON(rt, got) != asJSON(rt, want) {
			rt.Fatalf("Cycle of single procs = %s, want %s", asJSON(rt, got), asJSON(rt, want))
		}
	})
}

func TestNothingTwiceAndNothingIdle(t *testing.T) {
	cfg := defaults(t)
	eval := &classad.Context{Now: now}
	rapid.Check(t, func(rt *rapid.T) {
		p := somePool(rt, t, false)
		plan := Cycle(p, cfg, now)
		slots, jobs := map[string]bool{}, map[pool.JobID]bool{}
		for _, cl := range p.Claims {
			if !slices.Contains(plan.GiveUp, cl) {
				jobs[cl.Job] = true
			}
			slots[cl.Slot] = true // also those given up: they rest
		}
		ads := map[string]*classad.Ad{}
		for _, s := range p.Slots {
			ads[s.Name] = s.Ad
		}
		job := func(id pool.JobID) (jobprio.Run, *classad.Ad) {
			i := slices.IndexFunc(p.Jobs, func(j jobprio.Run) bool { return j.Cluster == id.Cluster && id.Proc < j.Count() })
			return p.Jobs[i], procAd(p.Jobs[i].Ad, id.Proc)
		}
		for _, m := range plan.Matches {
			if slots[m.Slot] || jobs[m.Job] {
				rt.Fatalf("match %+v: the slot or the job is taken already", m)
			}
			slots[m.Slot], jobs[m.Job] = true, true
			j, ad := job(m.Job)
			if !classad.Match(eval, ad, ads[m.Slot]) || j.Submitter != m.Submitter {
				rt.Fatalf("match %+v: not a match, or not this submitter's job", m)
			}
			if state, _ := ads[m.Slot].EvalString(eval, pool.AttrState); state != "Unclaimed" {
				rt.Fatalf("match %+v: the slot is %s", m, state)
			}
		}
		left := map[pool.JobID]bool{}
		for _, r := range plan.Rejections {
			count := 0
			for _, ps := range r.Jobs {
				for proc := ps.First; proc <= ps.Last; proc++ {
					id := pool.JobID{Cluster: ps.Cluster, Proc: proc}
					if j, _ := job(id); jobs[id] || left[id] || j.Submitter != r.Submitter {
						rt.Fatalf("rejection %+v: %v has a slot, stands there twice, or is not this submitter's", r, id)
					}
					left[id] = true
					count++
				}
			}
			if count != r.Count || !left[r.Job] {
				rt.Fatalf("rejection %+v: names %d jobs", r, count)
			}
		}
		for _, j := range p.Jobs {
			for proc := range j.Count() {
				id := pool.JobID{Cluster: j.Cluster, Proc: proc}
				if jobs[id] {
					continue
				}
				if !left[id] {
					rt.Fatalf("rejections miss %v: %+v", id, plan.Rejections)
				}
				ad := procAd(j.Ad, proc)
				for _, s := range p.Slots {
					state, _ := s.Ad.EvalString(eval, pool.AttrState)
					if !slots[s.Name] && state == "Unclaimed" && classad.Match(eval, ad, s.Ad) {
						rt.Fatalf("job %d.%d got nothing, but %s is free and matches", id.Cluster, id.Proc, s.Name)
					}
				}
			}
		}
	})
}

// Nice users get what nobody else can use, whatever the EUPs are.
func TestNiceUsersGetWhatIsLeft(t *testing.T) {
	cfg := defaults(t)
	eval := &classad.Context{Now: now}
	rapid.Check(t, func(rt *rapid.T) {
		p := somePool(rt, t, false)
		for i := range p.Submitters {
			p.Submitters[i].Factor = rapid.SampledFrom([]float64{0, 1, 1e4, 1e9}).Draw(rt, "factor")
		}
		plan := Cycle(p, cfg, now)
		ads := map[string]*classad.Ad{}
		for _, s := range p.Slots {
			ads[s.Name] = s.Ad
		}
		nice := func(name string) bool { return name == "nice-user.alice@x" }
		for i, s := range plan.Submitters {
			if nice(s.Name) && i != len(plan.Submitters)-1 {
				rt.Fatalf("Submitters = %+v, want the nice user last", plan.Submitters)
			}
		}
		for _, m := range plan.Matches {
			for _, r := range plan.Rejections {
				if !nice(m.Submitter) || nice(r.Submitter) {
					continue
				}
				j := p.Jobs[slices.IndexFunc(p.Jobs, func(j jobprio.Run) bool { return j.Cluster == r.Job.Cluster })]
				if classad.Match(eval, procAd(j.Ad, r.Job.Proc), ads[m.Slot]) {
					rt.Fatalf("%s of the nice user has %s, which %s of %s could use", m.Job, m.Slot, r.Job, r.Submitter)
				}
			}
		}
	})
}
