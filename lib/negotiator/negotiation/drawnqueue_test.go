package negotiation

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// drawnQueue is a policy whose order, blocked jobs, clocks and limits are as good as chance,
// but the same for the same jobs, however they come.
type drawnQueue struct {
	seed                   uint64
	blocks, counts, limits bool
	byNoise                bool // the order goes by the attribute Noise, too
	tickets                bool
	user, noise            [2]int
}

func drawQueue(t *rapid.T) drawnQueue {
	q := drawnQueue{seed: rapid.Uint64().Draw(t, "order"), blocks: rapid.Bool().Draw(t, "blocks"), counts: rapid.Bool().Draw(t, "counts passed"),
		limits: rapid.Bool().Draw(t, "policy limits"), byNoise: rapid.Bool().Draw(t, "order by noise"), tickets: rapid.Bool().Draw(t, "tickets")}
	for _, bound := range []*[2]int{&q.user, &q.noise} {
		bound[0] = rapid.IntRange(0, 6).Draw(t, "soft")
		bound[1] = bound[0] + rapid.IntRange(0, 4).Draw(t, "and hard")
	}
	return q
}

func (q drawnQueue) Name() string { return "drawn" }

func (q drawnQueue) Attributes() []string {
	if q.byNoise {
		return []string{"Noise"}
	}
	return nil
}

func noiseOf(r jobprio.Run) int {
	n, _ := r.Ad.EvalInt(&classad.Context{Now: now}, "Noise")
	return int(n)
}

func (q drawnQueue) hash(parts ...int) int {
	h := fnv.New64a()
	fmt.Fprint(h, q.seed, parts)
	return int(h.Sum64() >> 8)
}

// drawn is three procs of a cluster at most, which have one place.
type drawn struct {
	jobprio.Part
	chance int
}

func (q drawnQueue) cut(runs []jobprio.Run) (all []drawn) {
	for i, r := range runs {
		noise := 0
		if q.byNoise {
			noise = noiseOf(r)
		}
		for at := 0; at < r.Count(); {
			id := pool.JobID{Cluster: r.Cluster, Proc: r.First + at}
			n := min(3-id.Proc%3, r.Count()-at)
			all = append(all, drawn{jobprio.Part{Run: i, Procs: pool.Procs{Cluster: id.Cluster, First: id.Proc, Last: id.Proc + n - 1}}, q.hash(id.Cluster, id.Proc/3, noise)})
			at += n
		}
	}
	slices.SortFunc(all, func(a, b drawn) int { return cmp.Or(cmp.Compare(b.chance%50, a.chance%50), a.Compare(b.Procs)) })
	return all
}

func (q drawnQueue) Order(w jobprio.Waiting) (o jobprio.Order) {
	o.CountPassed = q.counts
	for _, x := range q.cut(w.Idle) {
		if q.blocks && x.chance/50%6 == 0 {
			o.Blocked = append(o.Blocked, jobprio.Blocked{Part: x.Part, Priority: -1, Why: fmt.Sprint("chance ", x.chance/300%2)})
		} else {
			o.Places = append(o.Places, jobprio.Place{Part: x.Part, Priority: float64(x.chance % 50), QOS: fmt.Sprint("q", x.chance/50%3), PE: float64(x.chance / 50 % 5), Tickets: float64(x.chance / 50 % 9)})
		}
		if x.chance/50%4 == 0 {
			o.Clocks = append(o.Clocks, jobprio.Clock{Part: x.Part, Since: int64(x.chance % 7)})
		}
	}
	for _, x := range q.cut(w.Held) {
		o.Clocks = append(o.Clocks, jobprio.Clock{Part: x.Part, Held: true, Since: int64(x.chance % 7)})
	}
	if q.tickets {
		o.Tickets = make([]float64, len(w.Running))
		for i, r := range w.Running {
			o.Tickets[i] = float64(q.hash(r.Cluster, r.First)%7) - 2
		}
	}
	if q.limits {
		l := &drawnLimits{drawnQueue: q, byUser: map[string]int{}, byNoise: map[int]int{}}
		for _, r := range w.Running {
			l.byUser[r.Submitter]++
			l.byNoise[noiseOf(r.Run)]++
		}
		o.Limits = l
	}
	return o
}

// drawnLimits bound the jobs of a user, and those with the same Noise.
type drawnLimits struct {
	drawnQueue
	kinds   []drawnKind
	byUser  map[string]int
	byNoise map[int]int
}

type drawnKind struct {
	user  string
	noise int
}

func (l *drawnLimits) Attributes() []string { return []string{"Noise"} }

func (l *drawnLimits) Kind(r jobprio.Run) int {
	k := drawnKind{r.Submitter, noiseOf(r)}
	if i := slices.Index(l.kinds, k); i >= 0 {
		return i
	}
	l.kinds = append(l.kinds, k)
	return len(l.kinds) - 1
}

func (l *drawnLimits) Refuses(kind int, hard bool) string {
	k, at := l.kinds[kind], 0
	if hard {
		at = 1
	}
	switch {
	case l.byUser[k.user] >= l.user[at]:
		return fmt.Sprintf("MAXJOB %d of user %s: %d in use", l.user[at], k.user, l.byUser[k.user])
	case l.byNoise[k.noise] >= l.noise[at]:
		return fmt.Sprintf("MAXJOB %d of noise %d: %d in use", l.noise[at], k.noise, l.byNoise[k.noise])
	}
	return ""
}

func (l *drawnLimits) Take(kind int) {
	l.byUser[l.kinds[kind].user]++
	l.byNoise[l.kinds[kind].noise]++
}

func (l *drawnLimits) Admits(kind int, ended []int, hard bool) bool {
	k, at := l.kinds[kind], 0
	if hard {
		at = 1
	}
	user, noise := l.byUser[k.user], l.byNoise[k.noise]
	for _, e := range ended {
		if l.kinds[e].user == k.user {
			user--
		}
		if l.kinds[e].noise == k.noise {
			noise--
		}
	}
	return user < l.user[at] && noise < l.noise[at]
}

func (l *drawnLimits) Lasting(int) bool { return true }

// maybeQueued gives every second pool a policy with one queue.
func maybeQueued(t *rapid.T, outer testing.TB, p negotiator.Pool, cfg negotiator.Config) (negotiator.Pool, negotiator.Config) {
	switch rapid.IntRange(0, 7).Draw(t, "one queue") {
	case 0, 1, 2, 3:
		return p, cfg
	case 4:
		cfg.Queue = gridEngine(t)
	default:
		cfg.Queue = drawQueue(t)
	}
	runToo(&p, outer)
	return p, cfg
}

// gridEngine is Grid Engine's policy, by what jobs here have: their JobPrio, their requests,
// and how many of them wait.
func gridEngine(t *rapid.T) *sge.Queue {
	everybody := map[string]sge.Object{sge.DefaultDepartment: {FShare: 1, OTicket: 7}}
	c := &sge.Config{
		WeightPriority: 1, WeightUrgency: rapid.SampledFrom([]float64{0, 1}).Draw(t, "weight_urgency"), WeightTicket: rapid.SampledFrom([]float64{0, 1}).Draw(t, "weight_ticket"),
		WeightDepartment: 1, TicketsFunctional: 1000, ShareFunctional: rapid.Bool().Draw(t, "shared"), ShareOverride: true,
		MaxFunctional: rapid.IntRange(0, 9).Draw(t, "functional"), MaxPendingTasks: rapid.IntRange(1, 4).Draw(t, "tasks"), Departments: everybody,
		Complexes: []sge.Complex{{Name: "memory", Type: sge.Memory, Urgency: 1}},
	}
	q := sge.NewQueue(c, sge.World{Now: now, FreeSlots: rapid.Int64Range(0, 3).Draw(t, "free")})
	q.KeepTickets(rapid.Bool().Draw(t, "tickets"))
	return q
}

// freely gives a pool a policy with one queue that keeps nobody from anything.
func freely(t *rapid.T, outer testing.TB, p negotiator.Pool, cfg negotiator.Config) (negotiator.Pool, negotiator.Config) {
	q := drawQueue(t)
	q.blocks, q.limits = false, false
	cfg.Queue = q
	runToo(&p, outer)
	return p, cfg
}

// runToo fills in what a policy for one queue reckons with besides idle jobs: those with
// claims, which may be idle in the pool as well, and some that are held.
func runToo(p *negotiator.Pool, outer testing.TB) {
	p.Running, p.Held = nil, []jobprio.Run{aJob(outer, 901, 4, "alice@x", "Noise = ProcId"), aJob(outer, 900, 2, "bob@x", "")}
	known := map[pool.JobID]bool{}
	for _, cl := range p.Claims {
		if known[cl.Job] {
			continue
		}
		known[cl.Job] = true
		_, job := jobOf(*p, cl.Job)
		if job == nil {
			job = aJob(outer, cl.Job.Cluster, 1, cl.Submitter, "").Ad
		}
		p.Running = append(p.Running, jobprio.Running{Run: jobprio.Run{Procs: pool.Only(cl.Job), Submitter: cl.Submitter, Ad: job}, Started: cl.MatchedAt})
	}
}

// later does as after, for a policy that counts what runs.
func later(outer testing.TB, p negotiator.Pool, plan *negotiator.Plan) negotiator.Pool {
	p = after(p, plan)
	runToo(&p, outer)
	return p
}
