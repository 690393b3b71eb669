package maui

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// anyInt and anyFloat draw numbers of all sizes, and what makes no sense.
func anyInt() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-100, 10000), rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MinInt64, math.MaxInt64}))
}

func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64Range(-10, 200), rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}))
}

func anyName() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "a", "b", DefaultName})
}

func anyCredential(t *rapid.T) Credential {
	return Credential{Priority: anyInt().Draw(t, "PRIORITY"), QTWeight: anyInt().Draw(t, "QTWEIGHT"), XFWeight: anyInt().Draw(t, "XFWEIGHT"),
		FSWeight: anyInt().Draw(t, "FSWEIGHT"), QTTarget: time.Duration(anyInt().Draw(t, "QTTARGET")), XFTarget: anyFloat().Draw(t, "XFTARGET"),
		FSTarget: anyFloat().Draw(t, "FSTARGET"), FSMode: rapid.SampledFrom([]FSMode{FSTarget, FSFloor, FSCeiling, FSQuota, 'x'}).Draw(t, "mode"),
		QDef: anyName().Draw(t, "QDEF"), QList: rapid.SliceOfN(anyName(), 0, 2).Draw(t, "QLIST"),
		QListMode: rapid.SampledFrom([]byte{0, '&', '^', 'x'}).Draw(t, "QLIST mode"), WCLimit: time.Duration(anyInt().Draw(t, "WCLIMIT"))}
}

func anyConfig(t *rapid.T) *Config {
	c := Config{XFMinWCLimit: time.Duration(anyInt().Draw(t, "XFMINWCLIMIT")), UseSystemQueueTime: rapid.Bool().Draw(t, "USESYSTEMQUEUETIME"),
		EnableNegative: rapid.Bool().Draw(t, "ENABLENEGJOBPRIORITY"), RejectNegative: rapid.Bool().Draw(t, "REJECTNEGPRIOJOBS"),
		FSPolicy: FSPolicy(rapid.IntRange(0, 4).Draw(t, "FSPOLICY")), FSRatio: rapid.Bool().Draw(t, "ratio"), Compatible: rapid.Bool().Draw(t, "compatible")}
	term := func(of string) Term { return Term{anyInt().Draw(t, of+" weight"), anyInt().Draw(t, of+" cap")} }
	for i := range c.Components {
		c.Components[i] = term(Component(i).String())
	}
	for i := range c.Subs {
		if rapid.Bool().Draw(t, "weighs") {
			c.Subs[i] = term(Sub(i).String())
		}
	}
	for k := range Kinds {
		c.Credentials[k] = map[string]Credential{}
		for range rapid.IntRange(0, 2).Draw(t, "entries") {
			c.Credentials[k][anyName().Draw(t, "index")] = anyCredential(t)
		}
	}
	return &c
}

func anyWorld(t *rapid.T) World {
	w := World{Now: time.Unix(anyInt().Draw(t, "now"), 0), Used: Used{Total: anyFloat().Draw(t, "total")},
		Totals: Totals{anyFloat().Draw(t, "procs"), anyFloat().Draw(t, "mem"), anyFloat().Draw(t, "swap"), anyFloat().Draw(t, "disk")}}
	for k := range Kinds {
		w.Used.Of[k] = map[string]float64{"a": anyFloat().Draw(t, "a's"), DefaultName: anyFloat().Draw(t, "DEFAULT's")}
	}
	return w
}

func anyJob(t *rapid.T) Job {
	n := func(of string) int64 { return anyInt().Draw(t, of) }
	x := func(of string) float64 { return anyFloat().Draw(t, of) }
	name := func(of string) string { return anyName().Draw(t, of) }
	return Job{ID: pool.JobID{Cluster: rapid.IntRange(1, 3).Draw(t, "cluster"), Proc: rapid.IntRange(0, 2000).Draw(t, "proc")},
		User: name("user"), Group: name("group"), Account: name("account"), QOS: name("QOS"), Class: name("class"),
		Submitted: n("submitted"), Since: n("since"), Stopped: rapid.Bool().Draw(t, "stopped"), WCLimit: n("limit"), Tasks: n("tasks"), ProcsPerTask: n("procs"),
		MemPerTask: x("mem"), SwapPerTask: x("swap"), DiskPerTask: x("disk"), Nodes: n("nodes"), Bypassed: n("bypassed"),
		SoftViolation: rapid.Bool().Draw(t, "violation"), System: n("system"), JobPrio: rapid.Int64Range(-1, 1).Draw(t, "JobPrio")}
}

// Whatever is configured: nothing panics or is no number, capped terms stay below their caps,
// the parts make the sum, bounds hold, and the quick way has the same priority.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, w, j := anyConfig(t), anyWorld(t), anyJob(t)
		r := NewReckoner(c, w)
		for _, p := range []Priority{r.Of(&j), r.RunPriority(&j, anyInt().Draw(t, "started"))} {
			numbers := []float64{p.Value, p.Raw, p.Waited}
			for _, part := range slices.Concat(p.Parts[:], p.Subs[:]) {
				numbers = append(numbers, part.Full, part.Factor, part.Adds())
				if part.Cap > 0 && part.Factor > float64(part.Cap) || part.Factor > part.Full {
					t.Errorf("%+v: above its cap", part)
				}
			}
			for _, x := range numbers {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Fatalf("%v among %+v", x, p)
				}
			}
		}
		p := r.Of(&j)
		sum := 0.0
		for i, part := range p.Parts {
			full := 0.0
			for s := range Subs {
				if s.Component() == Component(i) && s.counts() {
					full += p.Subs[s].Adds()
				}
			}
			if full != part.Full {
				t.Errorf("%v = %v, its terms make %v", Component(i), part.Full, full)
			}
			sum += part.Adds()
		}
		if sum != p.Raw {
			t.Errorf("raw priority %v, its terms make %v", p.Raw, sum)
		}
		if limit := c.WCLimit(&j); limit < 1 || p.Subs[WallTime].Full != float64(limit) {
			t.Errorf("limit %d, want 1 and more, and WALLTIME %v", limit, p.Subs[WallTime].Full)
		}
		if !c.EnableNegative && !c.RejectNegative && j.System <= 0 && (p.Start < 1 || p.Start > 1e9) {
			t.Errorf("start priority %d, want 1 to 1e9", p.Start)
		}
		if got := rank(r, []Job{j}); got[0].Start != p.Start {
			t.Errorf("a queue has %d, Of %d", got[0].Start, p.Start)
		}
	})
}

// Where weights are positive, more of what counts for a job never lowers its priority.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, w := anyConfig(t), anyWorld(t)
		j := anyJob(t)
		for i := range c.Components {
			c.Components[i].Weight = rapid.Int64Range(1, math.MaxInt64).Draw(t, "weight")
		}
		for i := range c.Subs {
			c.Subs[i].Weight = max(c.Subs[i].Weight, 0)
		}
		// More of these raises one factor, and none falls: PS, PE and PROC rise together.
		more := j
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			more.Bypassed = plus(j.Bypassed, rapid.Int64Range(0, 1e9).Draw(t, "more"))
		case 1:
			more.Nodes = plus(j.Nodes, rapid.Int64Range(0, 1e9).Draw(t, "more"))
		case 2:
			more.MemPerTask = bounded(j.MemPerTask) + rapid.Float64Range(0, 1e9).Draw(t, "more")
		case 3:
			more.Tasks = plus(j.Tasks, rapid.Int64Range(0, 1e9).Draw(t, "more"))
		case 4:
			more.DiskPerTask = bounded(j.DiskPerTask) + rapid.Float64Range(0, 1e9).Draw(t, "more")
		case 5: // queue time, with the expansion factor and the nearness of targets
			if c.Compatible {
				t.Skip("the program's target looks at the time of day")
			}
			q := c.Credentials[QOS]
			for name, o := range q {
				o.QTWeight, o.XFWeight = max(o.QTWeight, 0), max(o.XFWeight, 0)
				q[name] = o
			}
			more.Since = plus(j.Since, -rapid.Int64Range(0, 1e9).Draw(t, "more"))
			more.Submitted = plus(j.Submitted, -rapid.Int64Range(0, 1e9).Draw(t, "more"))
		}
		r := NewReckoner(c, w)
		if a, b := r.Of(&j), r.Of(&more); b.Start < a.Start || b.Raw < a.Raw {
			t.Errorf("of %+v the priority is %d (%v), of %+v %d (%v)", j, a.Start, a.Raw, more, b.Start, b.Raw)
		}
	})
}

// A weight of 0 makes a subcomponent irrelevant: neither its cap nor what it is reckoned
// from matters.
func TestWeightless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, w, j := anyConfig(t), anyWorld(t), anyJob(t)
		c.Subs[Bypass].Weight, c.Subs[Node].Weight, c.Subs[SPViolation].Weight, c.Subs[CredUser].Weight = 0, 0, 0, 0
		before := NewReckoner(c, w).Of(&j)
		for _, s := range []Sub{Bypass, Node, SPViolation, CredUser} {
			c.Subs[s].Cap = anyInt().Draw(t, "cap")
		}
		for name, o := range c.Credentials[User] {
			o.Priority = anyInt().Draw(t, "PRIORITY")
			c.Credentials[User][name] = o
		}
		j.Bypassed, j.Nodes, j.SoftViolation = anyInt().Draw(t, "bypassed"), anyInt().Draw(t, "nodes"), !j.SoftViolation
		if after := NewReckoner(c, w).Of(&j); after.Raw != before.Raw || after.Start != before.Start {
			t.Errorf("raw priority %v, and %v with other numbers that weigh nothing", before.Raw, after.Raw)
		}
	})
}

// The order does not depend on that of the jobs, and follows start priority, then ID, but for
// JobPrio among a user's own.
func TestRankOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, w := anyConfig(t), anyWorld(t)
		jobs := make([]Job, rapid.IntRange(0, 12).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i] = anyJob(t)
			jobs[i].ID = pool.JobID{Cluster: 1 + i/3, Proc: i % 3}
		}
		r := NewReckoner(c, w)
		got := rank(r, jobs)
		shuffled := rapid.Permutation(jobs).Draw(t, "shuffled")
		for i, k := range rank(r, shuffled) {
			if shuffled[k.Run].ID != jobs[got[i].Run].ID {
				t.Fatalf("place %d has %v, in another order of jobs %v", i, jobs[got[i].Run].ID, shuffled[k.Run].ID)
			}
		}
		for i := range got {
			j := &jobs[got[i].Run]
			if start := r.Of(j).Start; start != got[i].Start {
				t.Errorf("%v has start priority %d, want %d", j.ID, got[i].Start, start)
			}
			for k := range got[:i] {
				before := &jobs[got[k].Run]
				switch {
				case got[k].Start < got[i].Start:
					t.Errorf("%v (%d) stands before %v (%d)", before.ID, got[k].Start, j.ID, got[i].Start)
				case got[k].Start == got[i].Start && before.User == j.User && (before.JobPrio < j.JobPrio || before.JobPrio == j.JobPrio && j.ID.Less(before.ID)):
					t.Errorf("%v stands before %v of the same user", before.ID, j.ID)
				}
			}
		}
	})
}
