package operation

import (
	"math"
	"sort"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/spool"
)

// queueFact is an attribute that a policy with one queue keeps in equal procs.
type queueFact struct {
	pool.Procs
	name string
	is   int64
	// passed says that is, the BypassCount so far, grows by so many of the plan's matches as
	// come about, the last so many of Plan.Passing.
	passed int
}

// queueFacts returns what a plan wants kept in jobs until the next cycle: since when they are
// considered, and how often they were passed over. Jobs that changed since the snapshot are
// left out. It is to be called before the transaction changes any.
func queueFacts(tx *spool.Tx, plan *negotiator.Plan, seen Snapshot) []queueFact {
	var facts []queueFact
	note := func(f queueFact) {
		if n := len(facts); n > 0 {
			if last := &facts[n-1]; last.name == f.name && last.is == f.is && last.passed == f.passed && last.Extend(f.Procs) {
				return
			}
		}
		facts = append(facts, f)
	}
	for _, k := range plan.Clocks {
		eachUnchanged(tx, k.Procs, seen, func(p pool.Procs, _ *classad.Ad) { note(queueFact{p, pool.AttrEligibleSince, k.Since, 0}) })
	}
	for _, k := range plan.Passed {
		eachUnchanged(tx, k.Procs, seen, func(p pool.Procs, ad *classad.Ad) {
			before, _ := ad.EvalInt(&classad.Context{}, pool.AttrBypassCount)
			note(queueFact{p, pool.AttrBypassCount, max(before, 0), k.Times})
		})
	}
	return facts
}

// eachUnchanged calls do for those of some procs that are as the cycle saw them, run by run.
func eachUnchanged(tx *spool.Tx, p pool.Procs, seen Snapshot, do func(pool.Procs, *classad.Ad)) {
	cluster, ok := tx.Cluster(p.Cluster)
	if !ok {
		return
	}
	runs := cluster.Runs
	for _, run := range runs[sort.Search(len(runs), func(i int) bool { return runs[i].Last >= p.First }):] {
		if run.First > p.Last {
			return
		}
		if both, _ := run.Intersect(p); run.Seq <= seen.seq {
			do(both, run.Ad)
		}
	}
}

// keepQueueFacts notes them in the jobs. passing are the jobs that a plan matched, in the
// order of the queue, and made the matches that came about: a job that got nothing after all
// has passed nobody.
func keepQueueFacts(tx *spool.Tx, facts []queueFact, passing []pool.JobID, made []negotiator.Match) {
	matched := make(map[pool.JobID]bool, len(made))
	for _, m := range made {
		matched[m.Job] = true
	}
	failed := make([]int, len(passing)+1) // by how many of the last it is asked about
	for i := range passing {
		failed[i+1] = failed[i]
		if !matched[passing[len(passing)-1-i]] {
			failed[i+1]++
		}
	}
	for _, f := range facts {
		is := f.is
		if f.name == pool.AttrBypassCount {
			more := int64(f.passed - failed[min(f.passed, len(passing))])
			if more == 0 {
				continue
			}
			is = min(is, math.MaxInt64-more) + more
		}
		tx.SetRange(f.Procs, f.name, classad.Literal(classad.Int(is)))
	}
}

// Sources are what a policy with one queue reckons with besides the jobs. The functions
// are called only if the configuration makes a difference of it.
type Sources struct {
	Slots   func() []pool.Slot
	Claims  func() []pool.Claim
	Tallies func() []accountant.Tally
	Now     time.Time
	// Delivered is when a cycle last wrote the tickets of jobs that ran (Delivered); zero:
	// never.
	Delivered time.Time
}

// SourcesOf returns those of a view, with times as the clock tells them that at was read
// from.
func SourcesOf(v *spool.View, at accountant.Reading) Sources {
	return Sources{
		Slots:   func() []pool.Slot { slots, _ := Slots(v); return slots },
		Claims:  v.Claims,
		Tallies: func() []accountant.Tally { return Tallies(v, at) },
		Now:     at.Now, Delivered: Delivered(v),
	}
}

// OneQueue reports whether JOB_PRIORITY_POLICY is one with a queue of all submitters' jobs.
func OneQueue(cfg *config.Config) bool { return cfg.JobPriorityPolicy != "condor" }

// Queue returns the policy of JOB_PRIORITY_POLICY that puts all submitters' jobs into one
// order; nil if each submitter's have their own.
func Queue(cfg *config.Config, from Sources) jobprio.Queue {
	switch cfg.JobPriorityPolicy {
	case "maui":
		return maui.NewQueue(&cfg.Maui, mauiWorld(cfg, from))
	case "sge":
		q := sge.NewQueue(&cfg.SGE, SGEWorld(cfg, from))
		q.KeepTickets(cfg.RunTime.Interval > 0)
		q.SpareRunning(!delivers(cfg.RunTime.Interval, from.Delivered, from.Now))
		return q
	}
	return nil
}

// Beside says which jobs a snapshot has besides the idle ones.
type Beside struct {
	Running bool // those that have a claim
	Held    bool // those that are held or wait for others
}

// BesideOf returns what the configuration makes a cycle look at.
func BesideOf(cfg *config.Config) Beside {
	switch cfg.JobPriorityPolicy {
	case "maui":
		return Beside{Running: true, Held: maui.NewQueue(&cfg.Maui, maui.World{}).LooksAtHeld()}
	case "sge":
		return Beside{Running: true}
	}
	return Beside{}
}

// mauiWorld returns what Maui's priorities are reckoned with.
func mauiWorld(cfg *config.Config, from Sources) maui.World {
	c, w := &cfg.Maui, maui.World{Now: from.Now}
	if countsPE(c) {
		w.Totals = poolSize(from.Slots())
	}
	if c.FSPolicy != maui.NoFairShare {
		w.Used = maui.UsedOf(from.Tallies(), c, from.Now)
	}
	return w
}

// countsPE reports whether anything depends on processor equivalents, which the size of the
// pool is needed for. With a weight they are shown also where their component has none.
func countsPE(c *maui.Config) bool {
	if c.FSPolicy == maui.DedicatedPES || c.Subs[maui.PE].Weight != 0 {
		return true
	}
	for _, kind := range c.Credentials {
		for _, one := range kind {
			if one.Limits[maui.MaxPE].Set || one.IdleLimit[maui.MaxPE].Set {
				return true
			}
		}
	}
	return false
}

// What slots say of the swap space of their machine, in KiB: all of it, and their own.
const (
	attrTotalVirtualMemory = "TotalVirtualMemory"
	attrVirtualMemory      = "VirtualMemory"
)

// poolSize returns the size of the pool. A partitionable slot counts with all that it can be
// divided into, and the dynamic slots of its machine not once more. The swap space of a
// machine counts once where its slots say how much that is, else as what each of them has.
func poolSize(slots []pool.Slot) (t maui.Totals) {
	const mb = 1024 // KiB
	c := &classad.Context{}
	divided, swap := map[string]bool{}, map[string]float64{}
	for _, s := range slots {
		machine := machineOf(c, s)
		if pool.Partitionable(c, s.Ad) {
			divided[machine] = true
		}
		if all := amountOf(c, s.Ad, attrTotalVirtualMemory); all > 0 {
			swap[machine] = max(swap[machine], all)
		}
	}
	counted := map[string]bool{}
	for _, s := range slots {
		machine := machineOf(c, s)
		if all := swap[machine]; all > 0 && !counted[machine] {
			counted[machine] = true
			t.Swap += all / mb
		}
		if dynamic, _ := s.Ad.EvalBool(c, pool.AttrDynamicSlot); dynamic && divided[machine] {
			continue
		}
		t.Procs += wholeOf(c, s.Ad, pool.AttrCpus)
		t.Mem += wholeOf(c, s.Ad, pool.AttrMemory)
		t.Disk += wholeOf(c, s.Ad, pool.AttrDisk) / mb
		if swap[machine] == 0 {
			t.Swap += wholeOf(c, s.Ad, attrVirtualMemory) / mb
		}
	}
	return t
}

// wholeOf returns how much of a resource a slot has; of a partitionable one, as advertised
// by pools that name both, not only what is left of it.
func wholeOf(c *classad.Context, ad *classad.Ad, name string) float64 {
	if pool.Partitionable(c, ad) {
		if all := amountOf(c, ad, pool.TotalPrefix+name); all > 0 {
			return all
		}
	}
	return amountOf(c, ad, name)
}

// amountOf returns an attribute that is an amount, 0 where it is none.
func amountOf(c *classad.Context, ad *classad.Ad, name string) float64 {
	x, ok := ad.EvalNumber(c, name)
	if !ok || !(x > 0) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// SGEWorld returns what Grid Engine's priorities are reckoned with: usage if there is a share
// tree that gives tickets, and the free slots.
func SGEWorld(cfg *config.Config, from Sources) sge.World {
	c := &cfg.SGE
	w := sge.World{Now: from.Now, FreeSlots: freeSlots(from.Slots(), from.Claims())}
	if c.TicketsShare > 0 && c.Tree != nil {
		w.Used = sge.UsedOf(from.Tallies(), cfg.Decay, from.Now)
	}
	return w
}

// freeSlots returns how many slots of the pool are free. A partitionable slot counts as many
// as it has free processors, any other as one. What others hold, by the slot's own words, is
// not free, nor is what is drained.
func freeSlots(slots []pool.Slot, claims []pool.Claim) (n int64) {
	taken, pieces := map[string]bool{}, map[string][]pool.Resources{}
	for _, c := range claims {
		taken[c.Slot] = true
		if c.Piece.Of != "" && c.State != pool.Promised { // whose piece is the one that is being vacated
			pieces[c.Piece.Of] = append(pieces[c.Piece.Of], c.Piece.Takes)
		}
	}
	eval := &classad.Context{}
	for _, s := range slots {
		switch {
		case taken[s.Name] || !negotiator.Vacant(eval, s.Ad):
		case pool.Partitionable(eval, s.Ad):
			n += int64(min(amountOf(eval, pool.Left(eval, s.Ad, pieces[s.Name]), pool.AttrCpus), math.MaxInt32))
		default:
			n++
		}
	}
	return n
}
