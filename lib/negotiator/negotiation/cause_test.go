package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// world is a pool and its configuration, which a test changes step by step.
type world struct {
	negotiator.Pool
	cfg negotiator.Config
}

// after returns the world in which the plan was carried out.
func (w world) after(plan *negotiator.Plan) world {
	w.Claims = slices.DeleteFunc(slices.Clone(w.Claims), func(c pool.Claim) bool { return slices.Contains(plan.GiveUp, c) })
	for _, m := range plan.Matches {
		w.Claims = append(w.Claims, pool.Claim{Job: m.Job, Attempt: 1, Slot: m.Slot, Piece: m.Piece, Submitter: m.Submitter,
			State: pool.Matched, Weight: m.Weight, Limits: m.Limits, MatchedAt: now})
	}
	w.Backoffs = slices.Concat(w.Backoffs, plan.Backoffs)
	w.Reservations = nil
	for _, r := range plan.Reservations {
		w.Reservations = append(w.Reservations, r.Reservation)
	}
	return w
}

// without removes what the rejection says is in the way of its job, and nothing
// else.
func (w world) without(t *rapid.T, plan *negotiator.Plan, r negotiator.Rejection) world {
	a := plan.Autoclusters[r.Autocluster]
	for _, cause := range append([]negotiator.Cause{r.Cause}, r.Also...) {
		w.remove(t, cause, plan, r, a)
	}
	return w
}

func (w *world) remove(t *rapid.T, cause negotiator.Cause, plan *negotiator.Plan, r negotiator.Rejection, a negotiator.Analysis) {
	eval := &classad.Context{Now: now}
	mine := fmt.Sprintf("(MY.ClusterId == %d && MY.ProcId == %d)", r.Job.Cluster, r.Job.Proc)
	switch cause {
	case negotiator.CauseNoSlots:
		t.Skip("a pool without slots has no slot like another")
	case negotiator.CauseRequirements:
		w.editJob(r.Job, func(job *classad.Ad) { job.Set("Requirements", trueClauses(t, eval, job, w.slotAd(a.Nearest.Slot))) })
	case negotiator.CauseSlotRequirements:
		w.editSlot(a.Nearest.Slot, func(slot *classad.Ad) {
			old, had := slot.Lookup("Requirements")
			text := strings.ReplaceAll(mine, "MY.", "TARGET.")
			if had {
				text = fmt.Sprintf("((%s) =?= true) || %s", old, text)
			}
			slot.Set("Requirements", parsed(t, text))
		})
	case negotiator.CauseTooWide:
		slot := w.slotAd(a.Nearest.Slot)
		w.editJob(r.Job, func(job *classad.Ad) {
			for _, name := range []string{"Cpus", "Memory", "Disk", "GPUs"} {
				want, ok := job.EvalNumber(eval, "Request"+name)
				if has, _ := slot.EvalNumber(eval, name); ok && want > has && (slot.Has(name) || name == "GPUs") {
					job.SetReal("Request"+name, has)
				}
			}
		})
	case negotiator.CauseTooSmall, negotiator.CauseTaken, negotiator.CauseClaimed:
		for _, c := range w.Claims {
			if c.SlotAd() == a.Nearest.Slot && !slices.Contains(a.Nearest.Holders, c.Submitter) {
				t.Fatalf("%s holds %s, but is none of %q", c.Submitter, c.SlotAd(), a.Nearest.Holders)
			}
		}
		gone := map[pool.JobID]bool{}
		w.Claims = slices.DeleteFunc(slices.Clone(w.Claims), func(c pool.Claim) bool {
			gone[c.Job] = gone[c.Job] || c.SlotAd() == a.Nearest.Slot
			return c.SlotAd() == a.Nearest.Slot
		})
		w.keepJobs(func(j jobprio.Run) bool { return !gone[j.FirstJob()] })
		w.idle(a.Nearest.Slot)
	case negotiator.CauseBusy, negotiator.CauseDrained:
		w.idle(a.Nearest.Slot)
	case negotiator.CauseResting:
		w.Backoffs = slices.DeleteFunc(slices.Clone(w.Backoffs), func(b pool.Backoff) bool { return b.Slot == a.Nearest.Slot })
	case negotiator.CauseReserved:
		w.Reservations = slices.DeleteFunc(slices.Clone(w.Reservations), func(x pool.Reservation) bool { return x.Slot == a.Nearest.Slot })
		w.cfg.Reserve.Fraction = 0
	case negotiator.CauseSlotConstraint:
		w.cfg.SlotConstraint = parsed(t, fmt.Sprintf("(%s) || Name == %q", w.cfg.SlotConstraint, a.Nearest.Slot))
	case negotiator.CauseJobConstraint:
		if w.cfg.Queue != nil { // which was not asked about the job
			w.cfg.Queue = w.cfg.Queue.(exempting).but(r.Job, negotiator.CauseBlocked)
		}
		w.cfg.JobConstraint = parsed(t, fmt.Sprintf("(%s) || %s", w.cfg.JobConstraint, mine))
	case negotiator.CauseConcurrencyLimit:
		w.editJob(r.Job, func(job *classad.Ad) {
			text, _ := job.EvalString(eval, "ConcurrencyLimits")
			demands := slices.DeleteFunc(concurrency.Demands(text), func(d concurrency.Demand) bool { return slices.Contains(r.Limits, d.Name) })
			job.SetString("ConcurrencyLimits", concurrency.Text(demands))
		})
	case negotiator.CauseBlocked, negotiator.CauseThrottle:
		w.cfg.Queue = w.cfg.Queue.(exempting).but(r.Job, cause)
	case negotiator.CauseCeiling:
		w.Submitters = slices.Clone(w.Submitters)
		for i := range w.Submitters {
			if w.Submitters[i].Name == r.Submitter {
				w.Submitters[i].Ceiling.Slots += 100
			}
		}
	case negotiator.CauseShare:
		if w.cfg.Queue != nil {
			t.Fatalf("%v: its share is in the way, and there are none", r.Job)
		}
		w.cfg.IgnoreUserPriorities = true
	case negotiator.CauseSkipped:
		if w.cfg.Queue != nil {
			w.withoutOwnCluster(plan, r)
			return
		}
		w.keepJobs(func(j jobprio.Run) bool {
			return j.Submitter != r.Submitter || j.Cluster != r.Job.Cluster || j.First >= r.Job.Proc
		})
	case negotiator.CauseOthers:
		if w.cfg.Queue != nil {
			w.withoutOthersBefore(plan, r)
			return
		}
		w.keepJobs(func(j jobprio.Run) bool {
			return j.Submitter == r.Submitter || !slices.ContainsFunc(a.Ahead, func(x negotiator.Contender) bool { return x.Submitter == j.Submitter && x.Waiting > 0 })
		})
	case negotiator.CauseOwnJobs:
		w.keepIdle(func(j jobprio.Run) bool { return j.Submitter != r.Submitter || j.FirstJob() == r.Job })
	default:
		t.Fatalf("cause %q of %+v: no such cause", cause, r)
	}
}

func (w *world) keepJobs(keep func(jobprio.Run) bool) {
	w.Jobs = slices.DeleteFunc(slices.Clone(w.Jobs), func(j jobprio.Run) bool { return !keep(j) })
}

// keepIdle takes idle jobs away; what limits count of those with claims stays.
func (w *world) keepIdle(keep func(jobprio.Run) bool) {
	w.keepJobs(func(j jobprio.Run) bool {
		return keep(j) || slices.ContainsFunc(w.Claims, func(c pool.Claim) bool { return c.Job == j.FirstJob() })
	})
}

func (w *world) editJob(id pool.JobID, edit func(*classad.Ad)) {
	w.Jobs = slices.Clone(w.Jobs)
	for i := range w.Jobs {
		if j := &w.Jobs[i]; j.FirstJob() == id {
			j.Ad = j.Ad.Clone()
			edit(j.Ad)
		}
	}
}

func (w *world) editSlot(name string, edit func(*classad.Ad)) {
	w.Slots = slices.Clone(w.Slots)
	for i := range w.Slots {
		if s := &w.Slots[i]; s.Name == name {
			s.Ad = s.Ad.Clone()
			edit(s.Ad)
		}
	}
}

func (w *world) idle(slot string) {
	w.editSlot(slot, func(ad *classad.Ad) { ad.SetString("State", "Unclaimed") })
}

func (w *world) slotAd(name string) *classad.Ad {
	return w.Slots[slices.IndexFunc(w.Slots, func(s pool.Slot) bool { return s.Name == name })].Ad
}

// trueClauses returns what is true of the job's Requirements with a slot.
func trueClauses(t *rapid.T, eval *classad.Context, job, slot *classad.Ad) *classad.Expr {
	text := "true"
	for _, c := range classad.Explain(eval, job, slot, "Requirements") {
		if c.Expr != nil && !c.Fails() {
			text += " && (" + c.Expr.String() + ")"
		}
	}
	return parsed(t, text)
}

func parsed(t *rapid.T, text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	testenv.OK(t, err)
	return e
}

// anyWorld draws a pool in which there are all causes.
func anyWorld(t *rapid.T, outer testing.TB) world {
	names := []string{"alice@x", "bob@x", "carol@x", "nice-user.alice@x"}
	slotKinds := []string{"", "", "Memory = 2048", "Cpus = 2", "HasGPU = true", `State = "Owner"`, `State = "Drained"`, `State = "Claimed"; RemoteUser = "bob@x"`,
		"PartitionableSlot = true; Cpus = 4; Memory = 4096", "PartitionableSlot = true; Cpus = 8; Memory = 2048; GPUs = 2", `Requirements = TARGET.Owner == "dave"`,
		"PartitionableSlot = true; Cpus = 4; Memory = 4096; Requirements = true", "SlotWeight = 2.5", "SlotWeight = 0", `Cpus = 3; State = "Matched"`,
		`DynamicSlot = true; State = "Claimed"; RemoteUser = "carol@x"; ConcurrencyLimits = "license:2"`, "PartitionableSlot = true; Cpus = 4; Memory = 4096; SlotWeight = Memory / 1024",
		`PartitionableSlot = true; Cpus = 4; Memory = 4096; State = "Drained"`, "AdLifetime = 1", `Rank = TARGET.RequestMemory`, `State = "Preempting"; AccountingGroup = "dave@x"`}
	jobKinds := []string{"", "", "RequestMemory = 2000", "RequestCpus = 2", "RequestCpus = 3", "RequestCpus = 16", "RequestGPUs = 1; Requirements = TARGET.GPUs >= RequestGPUs",
		"Requirements = TARGET.HasGPU", "JobPrio = 5", `ConcurrencyLimits = "license"`, `ConcurrencyLimits = "license:2, tape"`,
		"Requirements = TARGET.Cpus > ProcId", "RequestCpus = 16; Requirements = true", "Rank = TARGET.Cpus", "Rank = TARGET.Memory; RequestCpus = 2", `RequestCpus = 2; ConcurrencyLimits = "license:0.5"`, `ConcurrencyLimits = "license:1.5,tape:0.5"; JobPrio = 1`, "RequestMemory = 4000; Requirements = TARGET.Cpus >= 1", "Wanted = false", "Requirements = TARGET.Memory > 9999 && TARGET.HasGPU && TARGET.Cpus >= RequestCpus"}
	w := world{cfg: defaults(outer)}
	w.cfg.Limits, _ = concurrency.NewLimits(100, nil, map[string]float64{"license": float64(rapid.IntRange(0, 3).Draw(t, "licenses")), "tape": 1})
	if rapid.Bool().Draw(t, "job constraint") {
		w.cfg.JobConstraint = expr(outer, "Wanted =!= false")
	}
	if rapid.Bool().Draw(t, "slot constraint") {
		w.cfg.SlotConstraint = expr(outer, "HasGPU =!= true")
	}
	w.cfg.SkipClusters = rapid.IntRange(0, 3).Draw(t, "skip") == 0
	if rapid.Bool().Draw(t, "reserve") {
		w.cfg.Reserve = negotiator.Reserve{Fraction: 0.3, Time: time.Hour}
	}
	w.cfg.DepthFirst = rapid.IntRange(0, 3).Draw(t, "depth") == 0
	w.cfg.UseSlotWeights = rapid.IntRange(0, 3).Draw(t, "weights") != 0
	w.cfg.IgnoreUserPriorities = rapid.IntRange(0, 5).Draw(t, "ignore") == 0
	if rapid.IntRange(0, 3).Draw(t, "poolsize") == 0 {
		w.cfg.PoolSizeConstraint = expr(outer, "Cpus < 3")
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "slots") {
		w.Slots = append(w.Slots, aSlot(outer, fmt.Sprintf("slot%d@a", i+1), rapid.SampledFrom(slotKinds).Draw(t, "slot")))
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "runs") {
		w.Jobs = append(w.Jobs, aJob(outer, i+1, rapid.IntRange(1, 4).Draw(t, "count"), rapid.SampledFrom(names).Draw(t, "submitter"),
			rapid.SampledFrom(jobKinds).Draw(t, "job")))
	}
	for _, n := range names {
		r := record(n, rapid.SampledFrom([]float64{0.5, 1, 2, 5, 77}).Draw(t, "rup"))
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			r.Ceiling = accountant.Limit{Slots: int64(rapid.IntRange(0, 4).Draw(t, "ceiling")), Set: true}
		}
		if rapid.IntRange(0, 4).Draw(t, "floored") == 0 {
			r.Floor = int64(rapid.IntRange(1, 4).Draw(t, "floor"))
		}
		w.Submitters = append(w.Submitters, r)
	}
	eval := &classad.Context{Now: now}
	for i, s := range w.Slots {
		switch rapid.IntRange(0, 7).Draw(t, "standing") {
		case 0:
			w.Backoffs = append(w.Backoffs, pool.Backoff{Slot: s.Name, Failures: 1, Until: now.Add(time.Minute)})
		case 1:
			cl := pool.Claim{Job: pool.JobID{Cluster: 100 + i}, Attempt: 1, Slot: s.Name, Submitter: rapid.SampledFrom(names).Draw(t, "holder"),
				MatchedAt: now.Add(-time.Hour),
				Weight:    rapid.SampledFrom([]accountant.Weight{accountant.One, 2 * accountant.One, accountant.One / 2}).Draw(t, "weight"),
				State:     rapid.SampledFrom([]pool.ClaimState{pool.RunningClaim, pool.Matched, pool.Vacating}).Draw(t, "state"),
				Limits:    rapid.SampledFrom([]string{"", "", "license", "tape:0.5"}).Draw(t, "held limits")}
			if pool.Partitionable(eval, s.Ad) {
				cl.Piece, cl.Slot = pool.Piece{Of: s.Name, Takes: "Cpus=2 Memory=1024"}, pool.DynamicName(s.Name, 1)
			}
			w.Claims = append(w.Claims, cl)
		}
	}
	w.Jobs = jobprio.Singly(w.Jobs)
	return w
}

// later draws the world in which the plan was carried out, some of what ran has
// ended, and jobs have come.
func (w world) later(t *rapid.T, outer testing.TB, plan *negotiator.Plan) world {
	w = w.after(plan)
	matched := map[pool.JobID]bool{}
	for _, c := range w.Claims {
		matched[c.Job] = true
	}
	w.keepJobs(func(j jobprio.Run) bool { return !matched[j.FirstJob()] })
	w.Claims = slices.DeleteFunc(slices.Clone(w.Claims), func(pool.Claim) bool { return rapid.IntRange(0, 2).Draw(t, "ends") == 0 })
	for i := range rapid.IntRange(0, 2).Draw(t, "more") {
		w.Jobs = append(w.Jobs, jobprio.Singly([]jobprio.Run{aJob(outer, 50+i, rapid.IntRange(1, 3).Draw(t, "count"), rapid.SampledFrom([]string{"alice@x", "bob@x", "carol@x"}).Draw(t, "submitter"),
			rapid.SampledFrom([]string{"", "RequestCpus = 4", "RequestCpus = 8; Requirements = true", "JobPrio = 9"}).Draw(t, "job"))})...)
	}
	return w
}

// Of every job that is left, the causes are true: with what they name out of the
// way, and nothing else, it runs in the next cycle.
func TestCausesAreTrue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		anyWorld(rt, t).checkCauses(rt, t)
	})
}

// cycle runs a cycle.
func (w world) cycle(outer testing.TB) *negotiator.Plan {
	if w.cfg.Queue != nil {
		w.Running = nil
		runToo(&w.Pool, outer)
	}
	return Cycle(w.Pool, w.cfg, now)
}

// checkCauses holds what one cycle says, or the next one, against what happens without it.
func (w world) checkCauses(rt *rapid.T, outer testing.TB) {
	plan := w.cycle(outer)
	if rapid.Bool().Draw(rt, "second") {
		w = w.later(rt, outer, plan)
		plan = w.cycle(outer)
	}
	for _, a := range plan.Autoclusters {
		sum := 0
		for _, s := range a.Steps {
			sum += s.Slots
		}
		if sum != len(w.Slots) {
			rt.Fatalf("steps %+v: sum is %d, want the %d slots of the pool", a.Steps, sum, len(w.Slots))
		}
	}
	later := w.after(plan)
	for _, r := range plan.Rejections {
		w.checkNumbers(rt, plan, r)
		if r.Cause == negotiator.CauseNoSlots || slices.Contains(r.Also, negotiator.CauseNoSlots) {
			continue
		}
		x := later.without(rt, plan, r)
		next := x.cycle(outer)
		if !slices.ContainsFunc(next.Matches, func(m negotiator.Match) bool { return m.Job == r.Job }) {
			again := slices.IndexFunc(next.Rejections, func(n negotiator.Rejection) bool { return n.Job == r.Job })
			what := "no word of it"
			if again >= 0 {
				n := next.Rejections[again]
				what = fmt.Sprintf("%s: %s %v %+v", n.Reason, n.Cause, n.Also, *next.Autoclusters[n.Autocluster].Nearest)
			}
			rt.Fatalf("%v of %s: %s\ncauses %s %v, nearest %+v\nwithout them it does not run: %s\nmatched first: %s; then: %s", r.Job, r.Submitter, r.Reason, r.Cause, r.Also,
				*plan.Autoclusters[r.Autocluster].Nearest, what, pairs(plan), pairs(next))
		}
	}
}

// checkNumbers holds what a rejection and its analysis say of slots, jobs and
// submitters against the plan.
func (w world) checkNumbers(t *rapid.T, plan *negotiator.Plan, r negotiator.Rejection) {
	a := plan.Autoclusters[r.Autocluster]
	held := map[string]int{}
	for _, c := range w.after(plan).Claims {
		held[c.Submitter]++
	}
	for _, s := range w.Slots {
		if who := negotiator.Holder(&classad.Context{Now: now}, s.Ad); who != "" {
			held[who]++
		}
	}
	idle := 0
	for _, o := range plan.Rejections {
		if o.Submitter == r.Submitter {
			idle += o.Count
		}
	}
	if r.OwnJobs >= idle {
		t.Errorf("%v: OwnJobs = %d, want less than the %d jobs that %s has left", r.Job, r.OwnJobs, idle, r.Submitter)
	}
	for _, h := range a.Holders {
		if h.Slots > held[h.Submitter] || h.New > share(plan, h.Submitter).Matched || h.New > h.Slots {
			t.Errorf("%v: %s holds %d slots, %d of them new; want at most %d and %d", r.Job, h.Submitter, h.Slots, h.New, held[h.Submitter], share(plan, h.Submitter).Matched)
		}
	}
	for i, x := range a.Ahead {
		s := share(plan, x.Submitter)
		if x.Waiting > s.Idle-s.Matched || x.Slots > held[x.Submitter] || x.Waiting+x.Slots == 0 {
			t.Errorf("%v: %+v is ahead, want one of %d jobs left and %d slots", r.Job, x, s.Idle-s.Matched, held[x.Submitter])
		}
		if w.cfg.Queue == nil && i > 0 && a.Ahead[i-1].EffectivePriority > x.EffectivePriority && !strings.HasPrefix(x.Submitter, "nice-user") {
			t.Errorf("%v: %+v is before %+v", r.Job, a.Ahead[i-1], x)
		}
	}
	if n := len(a.Ahead) + a.MoreAhead; w.cfg.Queue == nil && r.Ahead > n {
		t.Errorf("%v: %d submitters are ahead, of %d", r.Job, r.Ahead, n)
	}
	if a.Nearest != nil {
		w.slotAd(a.Nearest.Slot)
	}
}

// Each cause, with nothing else in the way.
func TestCauses(t *testing.T) {
	job := func(text string) []jobprio.Run { return []jobprio.Run{aJob(t, 1, 1, "alice@x", text)} }
	two := []jobprio.Run{aJob(t, 1, 1, "alice@x", "JobPrio = 1"), aJob(t, 2, 1, "alice@x", "RequestMemory = 100")}
	large := "PartitionableSlot = true; Cpus = 4; Memory = 4096; Requirements = true"
	held := []pool.Claim{{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot1", Submitter: "bob@x", State: pool.RunningClaim, Weight: accountant.One}}
	piece := []pool.Claim{{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot1_1", Piece: pool.Piece{Of: "slot1", Takes: "Cpus=3"},
		Submitter: "bob@x", State: pool.RunningClaim, Weight: accountant.One}}
	ceiling := record("alice@x", 0.5)
	ceiling.Ceiling.Set = true
	none, err := concurrency.NewLimits(0, nil, nil)
	testenv.OK(t, err)
	for _, c := range []struct {
		pool negotiator.Pool
		cfg  func(*negotiator.Config)
		want string
		text string
	}{
		{negotiator.Pool{Jobs: job("")}, nil, "NoSlots", "no match found: the pool has no slots"},
		{negotiator.Pool{Slots: equal(t, 1, ""), Jobs: job("Requirements = TARGET.HasGPU")}, nil, "Requirements",
			"no match found: the only slot does not meet the job's Requirements: TARGET.HasGPU is not true, as HasGPU is undefined"},
		{negotiator.Pool{Slots: equal(t, 2, "Requirements = TARGET.Dept == \"physics\""), Jobs: job("")}, nil, "SlotRequirements",
			"no match found: 2 of 2 slots meet the job's Requirements, none of these accepts the job; the nearest is slot1: TARGET.Dept == \"physics\" is not true, as Dept is undefined"},
		{negotiator.Pool{Slots: equal(t, 1, large), Jobs: job("RequestCpus = 8; Requirements = true")}, nil, "TooWide",
			"no match found: the only slot is not as large as the job requests: it has Cpus 4 of 8 requested"},
		{negotiator.Pool{Slots: equal(t, 1, large), Jobs: job("RequestCpus = 2; Requirements = true"), Claims: piece}, nil, "TooSmall",
			"no match found: the only matching slot has too little left: it has Cpus 1 of 2 requested"},
		{negotiator.Pool{Slots: equal(t, 1, ""), Jobs: two}, nil, "Taken", "no match found: the only matching slot is taken (0 before this cycle)"},
		{negotiator.Pool{Slots: equal(t, 1, ""), Jobs: job(""), Claims: held}, nil, "Claimed", "no match found: the only matching slot is taken (1 before this cycle)"},
		{negotiator.Pool{Slots: equal(t, 1, `State = "Owner"`), Jobs: job("")}, nil, "Busy",
			"no match found: the only matching slot is in a state that takes no job"},
		{negotiator.Pool{Slots: equal(t, 1, `State = "Drained"`), Jobs: job("")}, nil, "Drained",
			"no match found: the only matching slot is drained"},
		{negotiator.Pool{Slots: equal(t, 2, `State = "Drained"`), Jobs: job("")}, nil, "Drained",
			"no match found: none of 2 matching slots is free: 2 drained"},
		{negotiator.Pool{Slots: equal(t, 1, ""), Jobs: job(""), Backoffs: []pool.Backoff{{Slot: "slot1", Failures: 1, Until: now.Add(time.Hour)}}}, nil, "Resting",
			"no match found: the only matching slot is left alone after matches that no starter took up"},
		{negotiator.Pool{Slots: equal(t, 2, ""), Jobs: job("")}, func(c *negotiator.Config) { c.SlotConstraint = expr(t, "false") }, "SlotConstraint",
			"no match found: NEGOTIATOR_SLOT_CONSTRAINT leaves out all 2 slots"},
		{negotiator.Pool{Slots: equal(t, 2, ""), Jobs: job("RequestMemory = 1000")}, func(c *negotiator.Config) { c.SlotConstraint = expr(t, `Name == "slot9"`) }, "SlotConstraint",
			"no match found: NEGOTIATOR_SLOT_CONSTRAINT leaves out all 2 slots"},
		{negotiator.Pool{Slots: equal(t, 1, ""), Jobs: job("")}, func(c *negotiator.Config) { c.JobConstraint = expr(t, "false") }, "JobConstraint",
			"no match found: NEGOTIATOR_JOB_CONSTRAINT is not true for the job"},
		{negotiator.Pool{Slots: equal(t, 1, ""), Jobs: job(`ConcurrencyLimits = "tape:2"`)}, func(c *negotiator.Config) { c.Limits = none }, "ConcurrencyLimit",
			"concurrency limit tape reached: the job needs 2, more than the limit of 0"},
		{negotiator.Pool{Slots: equal(t, 1, ""), Jobs: job(""), Submitters: []accountant.Record{ceiling}}, nil, "Ceiling",
			"submitter ceiling reached: alice@x uses 0 of at most 0"},
		{negotiator.Pool{Slots: equal(t, 1, `State = "Owner"`), Jobs: job("Requirements = TARGET.HasGPU")}, nil, "Requirements, Busy",
			"no match found: the only slot does not meet the job's Requirements: TARGET.HasGPU is not true, as HasGPU is undefined"},
	} {
		cfg := defaults(t)
		if c.cfg != nil {
			c.cfg(&cfg)
		}
		plan := Cycle(c.pool, cfg, now)
		if len(plan.Rejections) != 1 {
			t.Errorf("%s: %d rejections, want 1", c.want, len(plan.Rejections))
			continue
		}
		r := plan.Rejections[0]
		got := string(r.Cause)
		for _, also := range r.Also {
			got += ", " + string(also)
		}
		if got != c.want || r.Reason != c.text {
			t.Errorf("causes of %v = %s: %q, want %s: %q", r.Job, got, r.Reason, c.want, c.text)
		}
		if help := r.Report().Help(plan.Autoclusters[r.Autocluster]); help == "" {
			t.Errorf("%s: Help is empty, want words", c.want)
		}
	}
}

// In spins a partitionable slot serves one job, a ceiling stops all that would begin
// beyond it, however light, and who has no share left gets nothing.
func TestCausesInSpins(t *testing.T) {
	large := `PartitionableSlot = true; Cpus = 4; Memory = 4096; Requirements = true`
	none := record("alice@x", 0.5)
	none.Ceiling.Set = true
	two := negotiator.Pool{Slots: equal(t, 1, large), Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", "")}}
	light := negotiator.Pool{Slots: equal(t, 1, large+"; SlotWeight = Memory / 1024"), Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "")}, Submitters: []accountant.Record{none}}
	owned := negotiator.Pool{Slots: equal(t, 1, `State = "Owner"`), Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "")}}
	for _, c := range []struct {
		name string
		pool negotiator.Pool
		cfg  func(*negotiator.Config)
		want []negotiator.Cause
		text string
	}{
		{"the second of two jobs for one slot", two, nil, []negotiator.Cause{negotiator.CauseTaken}, "no match found: the only matching slot is taken (0 before this cycle); 1 partitionable slot served one job, and serves no more in a cycle"},
		{"a piece of no weight, and a ceiling of 0", light, nil, []negotiator.Cause{negotiator.CauseCeiling}, "submitter ceiling reached: alice@x uses 0 of at most 0"},
		{"a slot in use, and no pool to share", owned, func(c *negotiator.Config) { c.PoolSizeConstraint = expr(t, "false") }, []negotiator.Cause{negotiator.CauseBusy, negotiator.CauseShare},
			"no match found: the only matching slot is in a state that takes no job"},
	} {
		cfg := defaults(t)
		cfg.Pie = negotiator.Spins
		if c.cfg != nil {
			c.cfg(&cfg)
		}
		plan := Cycle(c.pool, cfg, now)
		if len(plan.Rejections) != 1 {
			t.Errorf("%s: %d rejections, want 1", c.name, len(plan.Rejections))
			continue
		}
		r := plan.Rejections[0]
		if got := append([]negotiator.Cause{r.Cause}, r.Also...); !slices.Equal(got, c.want) || r.Reason != c.text {
			t.Errorf("%s: causes of %v = %v: %q, want %v: %q", c.name, r.Job, got, r.Reason, c.want, c.text)
		}
	}
}
