package maui

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// drawnWaiting draws jobs of a few people, of sizes that come near the limits of drawnQueue.
func drawnWaiting(t *rapid.T, outer testing.TB) (w jobprio.Waiting) {
	pick := func(of string, from ...string) string { return rapid.SampledFrom(from).Draw(t, of) }
	attributes := func() string {
		return pick("user", `Owner = "ann"; `, `Owner = "bob"; `, "") + pick("group", `UnixGroup = "g"; `, "") + pick("class", `Class = "long"; `, "") +
			pick("account", `AcctGroup = "a"; `, "") + pick("QOS", `QOS = "gold"; `, "", "") + pick("clock", "EligibleSince = 0; ", since(1), "", "") +
			pick("cpus", "RequestCpus = 2; ", "", "") + pick("memory", "RequestMemory = 1500.3; ", "") + pick("JobPrio", "JobPrio = 1; ", "JobPrio = -1; ", "", "") +
			fmt.Sprintf("WallTimeLimit = 600; QDate = %d", queueNow.Unix()-60*rapid.Int64Range(0, 3).Draw(t, "minutes"))
	}
	run := func(cluster int) jobprio.Run {
		r := runOf(outer, cluster, rapid.IntRange(1, 6).Draw(t, "count"), attributes())
		proc := rapid.IntRange(0, 3).Draw(t, "proc")
		r.First, r.Last = proc, proc+r.Last
		return r
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "idle") {
		w.Idle = append(w.Idle, run(1+i))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "running") {
		w.Running = append(w.Running, jobprio.Running{Run: run(101 + i), Started: queueNow.Add(-time.Duration(rapid.IntRange(-5, 20).Draw(t, "since")) * time.Minute)})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "held") {
		w.Held = append(w.Held, run(201+i))
	}
	return w
}

// drawnBounds draws limits that bind now and then.
func drawnBounds(t *rapid.T) (b [Limits]Bound) {
	scale := [Limits]float64{MaxJob: 1, MaxProc: 1, MaxPS: 600, MaxPE: 0.7, MaxNode: 1, MaxWC: 600, MaxMem: 700}
	for l := range b {
		if rapid.IntRange(0, 3).Draw(t, "limits") == 0 {
			b[l] = bound(scale[l]*rapid.Float64Range(0, 12).Draw(t, "soft"), scale[l]*rapid.Float64Range(0, 12).Draw(t, "hard"))
		}
	}
	return b
}

func drawnQueue(t *rapid.T) *Queue {
	c := Default()
	c.Accrual = Accrual(rapid.IntRange(0, 2).Draw(t, "accrual"))
	c.RejectNegative, c.Compatible = rapid.Bool().Draw(t, "reject"), rapid.Bool().Draw(t, "compatible")
	c.Subs[CredUser].Weight, c.Subs[SPViolation].Weight = 1, 1
	c.FSPolicy = DedicatedPS
	for k := range Kinds {
		c.Credentials[k] = map[string]Credential{}
		for _, name := range []string{DefaultName, "ann", "g", "gold", "long"} {
			if rapid.IntRange(0, 3).Draw(t, "entry") > 0 {
				continue
			}
			c.Credentials[k][name] = Credential{Priority: rapid.Int64Range(-2, 2).Draw(t, "PRIORITY"), Limits: drawnBounds(t), IdleLimit: drawnBounds(t),
				QList: rapid.SampledFrom([][]string{nil, {"gold"}}).Draw(t, "QLIST"), FSTarget: rapid.Float64Range(0, 4000).Draw(t, "FSTARGET"),
				FSMode: rapid.SampledFrom([]FSMode{FSTarget, FSQuota}).Draw(t, "mode")}
		}
	}
	return NewQueue(&c, queueWorld)
}

// proc is what an order says of a single job.
type proc struct {
	id       pool.JobID
	priority float64
	why      string
}

// single writes an order job by job: places in order, and what has no order by ID.
func single(w jobprio.Waiting, o jobprio.Order) (places, blocked, clocks []proc) {
	for _, p := range o.Places {
		for id := range p.Jobs() {
			places = append(places, proc{id, p.Priority, p.QOS})
		}
	}
	for _, b := range o.Blocked {
		for id := range b.Jobs() {
			blocked = append(blocked, proc{id, b.Priority, b.Why})
		}
	}
	for _, c := range o.Clocks {
		for id := range c.Jobs() {
			clocks = append(clocks, proc{id, float64(c.Since), ""})
		}
	}
	for _, list := range [][]proc{blocked, clocks} {
		slices.SortFunc(list, func(a, b proc) int { return a.id.Compare(b.id) })
	}
	return places, blocked, clocks
}

func TestEveryJobHasOnePlace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, q := drawnWaiting(rt, t), drawnQueue(rt)
		o := q.Order(w)
		var want, got []pool.JobID
		for _, r := range w.Idle {
			for id := range r.Jobs() {
				want = append(want, id)
			}
		}
		last := math.Inf(1)
		for _, p := range o.Places {
			if p.Count() < 1 || p.Priority > last {
				rt.Fatalf("%+v has no jobs, or goes behind those with less priority", p)
			}
			last = p.Priority
			for id := range p.Jobs() {
				got = append(got, id)
			}
		}
		for _, b := range o.Blocked {
			if b.Why == "" || b.Count() < 1 {
				rt.Fatalf("%+v are blocked", b)
			}
			for id := range b.Jobs() {
				got = append(got, id)
			}
		}
		slices.SortFunc(want, pool.JobID.Compare)
		slices.SortFunc(got, pool.JobID.Compare)
		if !slices.Equal(got, want) {
			rt.Fatalf("jobs in the order = %v, want %v", got, want)
		}
	})
}

// However jobs are listed, and cut into runs, the order is the same.
func TestOrderOfInputMeansNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, q := drawnWaiting(rt, t), drawnQueue(rt)
		places, blocked, clocks := single(w, q.Order(w))
		other := w
		cut := func(r jobprio.Run) (runs []jobprio.Run) {
			for r.Count() > 0 {
				head := r
				head.Last = rapid.IntRange(r.First, r.Last).Draw(rt, "cut")
				runs = append(runs, head)
				r.First = head.Last + 1
			}
			return runs
		}
		other.Idle, other.Held, other.Running = nil, nil, nil
		for _, r := range w.Idle {
			other.Idle = append(other.Idle, cut(r)...)
		}
		for _, r := range w.Held {
			other.Held = append(other.Held, cut(r)...)
		}
		for _, r := range w.Running {
			for _, part := range cut(r.Run) {
				other.Running = append(other.Running, jobprio.Running{Run: part, Started: r.Started})
			}
		}
		other.Idle = rapid.Permutation(other.Idle).Draw(rt, "idle")
		other.Held = rapid.Permutation(other.Held).Draw(rt, "held")
		other.Running = rapid.Permutation(other.Running).Draw(rt, "running")
		otherPlaces, otherBlocked, otherClocks := single(other, q.Order(other))
		if !slices.Equal(places, otherPlaces) || !slices.Equal(blocked, otherBlocked) || !slices.Equal(clocks, otherClocks) {
			rt.Fatalf("places %v, blocked %v, clocks %v\nof the same jobs otherwise %v, %v, %v", places, blocked, clocks, otherPlaces, otherBlocked, otherClocks)
		}
	})
}

// usage is what jobs take, summed up in the plainest way, by credential.
type usage map[Kind]map[string][Limits]float64

func (u usage) add(names [Kinds]string, takes [Limits]float64) {
	for k, name := range names {
		if name == "" {
			continue
		}
		if u[Kind(k)] == nil {
			u[Kind(k)] = map[string][Limits]float64{}
		}
		sum := u[Kind(k)][name]
		for l, x := range takes {
			sum[l] += x
		}
		u[Kind(k)][name] = sum
	}
}

// beyond returns a bound that is exceeded, hard or soft.
func (u usage) beyond(c *Config, of func(Credential) [Limits]Bound, hard bool) string {
	for k, names := range u {
		for name, used := range names {
			own, all := of(c.Credentials[k][name]), of(c.Credentials[k][DefaultName])
			for l := range Limits {
				b := own[l]
				if !b.Set {
					b = all[l]
				}
				most := b.Soft
				if hard || most > b.Hard {
					most = b.Hard
				}
				if b.Set && used[l] > most+1e-5 {
					return fmt.Sprintf("%v %s: %v of MAX%v %v", k, name, used[l], l, most)
				}
			}
		}
	}
	return ""
}

// plainly returns whose a job of drawnWaiting is, and what it takes.
func plainly(q *Queue, r jobprio.Run, seconds float64) (names [Kinds]string, takes [Limits]float64) {
	j := JobOf(&classad.Context{Now: queueNow}, r)
	p := q.reckoner.Of(&j)
	procs := float64(j.Procs())
	return [Kinds]string{User: j.User, Group: j.Group, Account: j.Account, QOS: p.QOS, Class: j.Class},
		[Limits]float64{MaxJob: 1, MaxProc: procs, MaxPS: procs * seconds, MaxPE: p.Subs[PE].Full, MaxNode: 1, MaxWC: seconds, MaxMem: p.Subs[Mem].Full}
}

func TestIdleLimitsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, q := drawnWaiting(rt, t), drawnQueue(rt)
		used := usage{}
		for _, p := range q.Order(w).Places {
			for range p.Count() {
				used.add(plainly(q, w.Idle[p.Run], 600))
			}
		}
		if what := used.beyond(q.config, func(c Credential) [Limits]Bound { return c.IdleLimit }, true); what != "" {
			rt.Fatal(what)
		}
	})
}

// Whoever asks before each job, first with soft limits and then with hard ones, never runs
// more than they say; and where a limit refuses, one more would have been too much.
func TestLimitsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, q := drawnWaiting(rt, t), drawnQueue(rt)
		w.Running = nil // may be beyond what is configured
		l := q.Order(w).Limits
		if l == nil {
			return
		}
		bounds := func(c Credential) [Limits]Bound { return c.Limits }
		used := usage{}
		for _, hard := range []bool{false, true} {
			for _, r := range w.Idle {
				kind := l.Kind(r)
				for range r.Count() {
					more := usage{}
					for k, names := range used {
						for name, sum := range names {
							one := [Kinds]string{}
							one[k] = name
							more.add(one, sum)
						}
					}
					more.add(plainly(q, r, 600))
					refused, beyond := l.Refuses(kind, hard), more.beyond(q.config, bounds, hard)
					if refused != "" {
						if beyond == "" && !within(more, q.config, bounds, hard) {
							rt.Fatalf("%s, but there is room", refused)
						}
						continue
					}
					if beyond != "" {
						rt.Fatal(beyond)
					}
					l.Take(kind)
					used = more
				}
			}
		}
	})
}

// within reports whether what is used comes so near to a bound, or to its whole part, that
// rounding decides.
func within(u usage, c *Config, of func(Credential) [Limits]Bound, hard bool) bool {
	return u.beyond(c, func(one Credential) [Limits]Bound {
		b := of(one)
		for l := range b {
			if Limit(l).inMillionths() {
				b[l].Soft, b[l].Hard = b[l].Soft-1e-4, b[l].Hard-1e-4
			} else {
				b[l].Soft, b[l].Hard = math.Floor(b[l].Soft), math.Floor(b[l].Hard)
			}
		}
		return b
	}, hard) != ""
}
