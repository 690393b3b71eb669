package negotiator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The plain way to find causes: each queue is compared with each other.

func plainOwnAhead(d *diagnosis, s *submitter, w waiter, n *nearest, bounded bool) (jobs int) {
	freed := d.findFreed(n).units
	for i := range d.queues[s] {
		o := &d.queues[s][i]
		k := o.cluster
		ahead := o.before(w.runs[0].order)
		if k != w.cluster && plainLighter(d, k, n) {
			ahead = o.jobs
		}
		if ahead == 0 || k.barred || d.blockedBut(k, freed) {
			continue
		}
		if d.accepts(k, n) || (bounded || s.ceiling.Set) && d.anyLeft(*o) {
			jobs += ahead
		}
	}
	return jobs
}

// plainLighter says whether jobs of k may weigh less than those that the slot is the
// nearest for: there, or at their own nearest.
func plainLighter(d *diagnosis, k *autocluster, n *nearest) bool {
	if m := d.nearest(k); m != nil && m.weight < n.weight {
		return true
	}
	return n.stand != nil && d.accepts(k, n) && d.weigh(k, n) < n.weight
}

func plainSkipped(d *diagnosis, s *submitter, w waiter) bool {
	var freed map[string]units
	if n := d.nearest(w.cluster); n != nil {
		freed = d.findFreed(n).units
	}
	if slices.Contains(w.passed, w.runs[0]) {
		return true
	}
	for _, o := range d.queues[s] {
		if o.cluster == w.cluster || o.cluster.barred || d.blockedBut(o.cluster, freed) || d.anyLeft(o) {
			continue
		}
		for _, r := range o.runs {
			if r.kin == w.runs[0].kin && r.kin != 0 && r.order < w.runs[0].order {
				return true
			}
		}
	}
	return false
}

func plainOthersWait(d *diagnosis, s *submitter, n *nearest, raise []FullGroup) bool {
	return slices.ContainsFunc(d.waiting(n), func(w waiting) bool {
		o := d.people[w.who]
		full := d.full(o, w.least, n, true, true)
		return o != s && (len(full) == 0 || d.raised(full, raise))
	})
}

func plainAheadOf(list []contender, s *submitter) (n int) {
	for _, x := range list {
		if x.submitter != s && cmp.Or(niceLast(x.submitter, s), cmp.Compare(x.eup, s.eup)) < 0 {
			n++
		}
	}
	return n
}

// plainSpoils tells what others than s took: in all, how many they are and who took most, by
// rank if any of it was.
func plainSpoils(list []contender, s *submitter) string {
	took := func(of func(contender) int) (sum, who int, first string) {
		most := 0
		for _, x := range list {
			if x.submitter == s || of(x) == 0 {
				continue
			}
			sum += of(x)
			if who++; of(x) > most || of(x) == most && x.name < first {
				most, first = of(x), x.name
			}
		}
		return sum, who, first
	}
	if sum, who, first := took(func(x contender) int { return x.byRank }); sum > 0 {
		return fmt.Sprintf("%s and %d others took %d by rank", first, who-1, sum)
	}
	sum, who, first := took(func(x contender) int { return x.got })
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("%s and %d others took %d first", first, who-1, sum)
}

// plainHolders are the contenders with slots, those with most in front.
func plainHolders(list []contender) (all []SlotHolder) {
	for _, x := range list {
		if x.slots > 0 {
			all = append(all, SlotHolder{x.name, x.slots, x.got})
		}
	}
	slices.SortFunc(all, func(a, b SlotHolder) int {
		return cmp.Or(cmp.Compare(b.Slots, a.Slots), strings.Compare(a.Submitter, b.Submitter))
	})
	return all
}

// TestCausesThePlainWay holds that what is found out once for many shapes is what each
// of them finds for itself.
func TestCausesThePlainWay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := crowded(rt, t)
		c := dealOut(w.Pool, w.cfg, now)
		c.report()
		d := c.diagnose()
		for _, k := range d.asked {
			d.analyse(k)
		}
		for _, s := range c.submitters {
			for _, w := range d.queues[s] {
				checkCauses(rt, d, s, w)
			}
		}
	})
}

func checkCauses(t *rapid.T, d *diagnosis, s *submitter, w waiter) {
	check := func(what string, got, want any) {
		if got != want {
			t.Fatalf("%s of %v of %s = %v, want %v", what, w.runs[0].first, s.name, got, want)
		}
	}
	check("skipped", d.skipped(s, w), plainSkipped(d, s, w))
	n := d.nearest(w.cluster)
	if n == nil {
		check("others", d.others(s, w.cluster), "")
		return
	}
	for _, bounded := range []bool{false, true} {
		check(fmt.Sprintf("ownAhead(%v)", bounded), d.ownAhead(s, w, n, bounded), plainOwnAhead(d, s, w, n, bounded))
	}
	for _, raise := range [][]FullGroup{nil, d.full(s, n.weight, n, false, false), d.full(s, n.weight, n, true, false)} {
		check(fmt.Sprintf("othersWait(%v)", raise), d.othersWait(s, n, raise), plainOthersWait(d, s, n, raise))
	}
	all := d.gather(w.cluster, n)
	list := slices.DeleteFunc(slices.Clone(all), func(x contender) bool { return x.who >= len(d.c.submitters) })
	check("aheadOf", d.aheadOf(s, w.cluster), plainAheadOf(list, s))
	f := d.ahead[w.cluster]
	own, how := f.of(s), "by rank"
	sum, who, first := f.byRank.without(s, own.byRank)
	if sum == 0 {
		how = "first"
		sum, who, first = f.got.without(s, own.got)
	}
	text := ""
	if who > 0 {
		text = fmt.Sprintf("%s and %d others took %d %s", first.name, who-1, sum, how)
	}
	check("others", text, plainSpoils(list, s))
	holders := plainHolders(all)
	check("holders", fmt.Sprint(f.holders, f.moreHolders), fmt.Sprint(holders[:min(len(holders), mostHolders)], max(0, len(holders)-mostHolders)))
	check("freed", fmt.Sprint(d.freed(n)), fmt.Sprint(d.findFreed(n)))
}

// plainGoFirst counts the jobs, own or of others, that go before those of w in one queue and
// wait for the slot.
func plainGoFirst(d *diagnosis, s *submitter, w waiter, n *nearest, own bool, raise []FullGroup) (jobs int) {
	p, gone := d.precedence, d.findFreed(n)
	limit := ""
	if p.throttled(w.queue) {
		limit = p.limitOf(w.queue).name
	}
	mine := d.roundAt(n, s, w.queue, true) + p.turn(s, &w)
	for o, list := range d.queues {
		for _, x := range list {
			k := x.cluster
			if (o == s) != own || !x.offered() || d.blockedBut(k, gone.units) {
				continue
			}
			takes := d.accepts(k, n)
			if !takes && (own || len(raise) == 0 || p.Limits == nil || !d.anyLeft(x)) {
				continue
			}
			if d.staysThrottled(x.queue, d.endedAt(n)) && (limit == "" || p.limitOf(x.queue).name != limit) {
				continue
			}
			full := d.full(o, d.weigh(k, n), n, true, true)
			if !takes {
				m := d.nearest(k)
				full = d.full(o, m.weight, m, false, true)
			}
			over := takes && !gone.holds[o.name] && !d.c.underCeiling(o, d.weigh(k, n))
			if !own && (over || len(full) > 0 && !d.raised(full, raise)) {
				continue
			}
			for _, r := range x.runs {
				if d.roundAt(n, o, x.queue, false)+r.order < mine {
					jobs += r.count
				}
			}
		}
	}
	return jobs
}

// Who goes first in one queue is found for all shapes at once as each would find it.
func TestCausesInOneQueueThePlainWay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := crowded(rt, t)
		w.cfg.Queue = exempting{drawnQueue: drawQueue(rt)}
		w.Running = nil
		w.runToo(t)
		c := dealOut(w.Pool, w.cfg, now)
		d := c.diagnose()
		for _, k := range d.asked {
			d.analyse(k)
		}
		for _, s := range c.submitters {
			for _, w := range d.queues[s] {
				n := d.nearest(w.cluster)
				if n == nil {
					continue
				}
				if got, want := d.ownAhead(s, w, n, false), plainGoFirst(d, s, w, n, true, nil); !s.ceiling.Set && got != want {
					rt.Fatalf("ownAhead of %v of %s = %d, want %d", w.runs[0].first, s.name, got, want)
				}
				for _, raise := range [][]FullGroup{nil, d.full(s, n.weight, n, true, false)} {
					if got, want := d.othersBefore(s, w, n, raise), plainGoFirst(d, s, w, n, false, raise); got != want {
						rt.Fatalf("othersBefore(%v) of %v of %s = %d, want %d", raise, w.runs[0].first, s.name, got, want)
					}
				}
			}
		}
	})
}

// crowded draws a pool in which few submitters have many shapes, in runs that take turns.
func crowded(t *rapid.T, outer testing.TB) world {
	var w world
	switch rapid.IntRange(0, 2).Draw(t, "world") {
	case 0:
		w = anyWorld(t, outer)
	case 1:
		w = grouped(t, outer)
	default:
		w = world{lawPool(t, outer, true), lawConfig(t, outer)}
	}
	w.cfg = anyPie(t, w.cfg)
	w.cfg.SkipClusters = w.cfg.SkipClusters || rapid.Bool().Draw(t, "skips")
	names := []string{"alice@x", "bob@x", "a.x.alice@x", "a.y.carol@x", "nice-user.alice@x"}[:rapid.IntRange(1, 5).Draw(t, "names")]
	for i := range rapid.IntRange(0, 30).Draw(t, "more runs") {
		j := aJob(outer, 1000+i%7, 1, rapid.SampledFrom(names).Draw(t, "submitter"),
			rapid.SampledFrom([]string{"", "", "Requirements = true", "RequestCpus = 2", "Requirements = TARGET.HasGPU", `ConcurrencyLimits = "license"`, "Rank = TARGET.Memory"}).Draw(t, "job"))
		j.First.Proc = 20 * i
		j.Count = rapid.SampledFrom([]int{1, 1, 3, 20}).Draw(t, "count")
		j.Ad.SetInt("ProcId", int64(j.First.Proc))
		j.Ad.SetInt("JobPrio", int64(rapid.IntRange(0, 4).Draw(t, "prio")))
		j.Ad.SetInt("RequestMemory", rapid.SampledFrom([]int64{1, 128, 500, 1000, 1500, 2000, 3000, 5000}).Draw(t, "memory"))
		w.Jobs = append(w.Jobs, j)
	}
	return w
}
