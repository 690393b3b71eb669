package sge

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// anyNumber draws numbers of all sizes, and what makes no sense.
func anyNumber() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64Range(0, 2), rapid.Float64Range(0, math.MaxUint32), rapid.Float64(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}))
}

func anyWhole() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-10, 3000), rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MinInt64, math.MaxInt64}))
}

// anyConfig draws any configuration that the types allow.
func anyConfig(t *rapid.T) *Config {
	x := func(of string) float64 { return anyNumber().Draw(t, of) }
	c := &Config{WeightPriority: x("weight_priority"), WeightUrgency: x("weight_urgency"), WeightTicket: x("weight_ticket"),
		WeightWaitingTime: x("weight_waiting_time"), WeightDeadline: x("weight_deadline"),
		WeightUser: x("weight_user"), WeightProject: x("weight_project"), WeightDepartment: x("weight_department"), WeightJob: x("weight_job"),
		TicketsFunctional: x("functional"), TicketsShare: x("share"), ShareFunctional: rapid.Bool().Draw(t, "share functional"), ShareOverride: rapid.Bool().Draw(t, "share override"),
		MaxFunctional: rapid.IntRange(-1, 20).Draw(t, "limit"), MaxPendingTasks: rapid.IntRange(-1, 20).Draw(t, "tasks"), Compensation: x("compensation"),
		ReportPending: rapid.Bool().Draw(t, "report"), Hierarchy: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) TicketPolicy { return TicketPolicy(rapid.IntRange(0, 3).Draw(t, "policy")) }), 0, 4).Draw(t, "hierarchy"),
		Users: map[string]Object{}, Projects: map[string]Object{}, Departments: map[string]Object{}, Tree: engSci()}
	for _, objects := range []map[string]Object{c.Users, c.Projects, c.Departments} {
		for _, name := range []string{"alice", "bob"} {
			objects[name] = Object{FShare: x("fshare"), OTicket: x("oticket")}
		}
	}
	for i, name := range []string{SlotsComplex, "lic", "site"} {
		c.Complexes = append(c.Complexes, Complex{Name: name, Type: []ComplexType{Int, Double, String}[i], Urgency: x("urgency")})
	}
	return c
}

// anyJobs draws stretches of clusters.
func anyJobs(t *rapid.T, n int) []Job {
	jobs := make([]Job, n)
	proc := 0
	for i := range jobs {
		x := func(of string) float64 { return anyNumber().Draw(t, of) }
		name := func(of string) string { return rapid.SampledFrom([]string{"", "alice", "bob", "carol"}).Draw(t, of) }
		jobs[i] = Job{ID: pool.JobID{Cluster: 1 + i/4, Proc: proc}, Count: rapid.IntRange(0, 4).Draw(t, "count"), User: name("user"), Project: name("project"), Department: name("department"),
			Submitted: anyWhole().Draw(t, "submitted"), Deadline: anyWhole().Draw(t, "deadline"), POSIX: anyWhole().Draw(t, "priority"), JobShare: x("job share"), OverrideTickets: x("override tickets"),
			Slots: anyWhole().Draw(t, "slots"), LeastSlots: anyWhole().Draw(t, "least"), CPUs: x("processors"),
			Requests: []Request{{rapid.IntRange(-1, 3).Draw(t, "complex"), x("amount"), ""}, {1, x("amount"), ""}}}
		proc += jobs[i].Count
	}
	return jobs
}

func anyWorld(t *rapid.T) World {
	x := func(of string) float64 { return anyNumber().Draw(t, of) }
	return World{Now: time.Unix(anyWhole().Draw(t, "now"), 0), FreeSlots: anyWhole().Draw(t, "free"),
		Used: Used{Own: map[string]float64{"alice": x("used"), "carol": x("used")}, Project: map[string]float64{"bob": x("used")}}}
}

// all returns each number.
func (n Numbers) all() []float64 {
	return []float64{n.Prio, n.NPPrior, n.NUrg, n.NTckts, n.Urg, n.RRContr, n.WTContr, n.DLContr, n.Tckts, n.OTckt, n.FTckt, n.STckt, n.Share}
}

// Whatever is configured: nothing panics, is no number, infinite or -0; what is normalised lies
// between 0 and 1; and the places have each proc once, in the order that the numbers make.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := anyJobs(t, rapid.IntRange(0, 12).Draw(t, "jobs"))
		running := jobsOf(rapid.SliceOfN(rapid.SampledFrom([]string{"alice", "bob", "carol"}), 0, 5).Draw(t, "running")...)
		r := Rank(anyConfig(t), anyWorld(t), jobs, running)
		var numbers []Numbers
		for i := range running {
			numbers = append(numbers, r.Running(i))
		}
		procs, placed := 0, 0
		for i := range jobs {
			for task := range jobs[i].Count {
				procs++
				numbers = append(numbers, r.Pending(i, task))
			}
		}
		scales := []float64{r.urgent.least, r.urgent.greatest, r.tickets.most, r.tickets.pendingSum, r.tickets.runningSum}
		for _, n := range numbers {
			for _, x := range append(n.all(), scales...) {
				if math.IsNaN(x) || math.IsInf(x, 0) || x == 0 && math.Signbit(x) {
					t.Fatalf("%+v of %v", n, scales)
				}
			}
			for _, x := range []float64{n.NPPrior, n.NUrg, n.NTckts} {
				if x < 0 || x > 1 {
					t.Fatalf("%+v: not from 0 to 1", n)
				}
			}
		}
		type proc struct {
			prio      float64
			submitted int64
			id        pool.JobID
		}
		var order []proc
		for _, p := range r.Places() {
			placed += p.Count
			for task := p.From; task < p.From+p.Count; task++ {
				if got := r.Pending(p.Job, task).Prio; got < p.Prio {
					t.Fatalf("place %+v, but priority %v of proc %d", p, got, task)
				}
				id := jobs[p.Job].ID
				order = append(order, proc{p.Prio, jobs[p.Job].Submitted, pool.JobID{Cluster: id.Cluster, Proc: id.Proc + task}})
			}
		}
		if placed != procs {
			t.Fatalf("%d procs have places, want %d", placed, procs)
		}
		if !slices.IsSortedFunc(order, func(a, b proc) int {
			return cmp.Or(cmp.Compare(b.prio, a.prio), cmp.Compare(a.submitted, b.submitted), a.id.Compare(b.id))
		}) {
			t.Fatalf("order %+v", order)
		}
		slices.SortFunc(order, func(a, b proc) int { return a.id.Compare(b.id) })
		if len(slices.CompactFunc(order, func(a, b proc) bool { return a.id == b.id })) != procs {
			t.Fatalf("a proc has two places")
		}
	})
}

// The order in which jobs are given changes nothing, and neither does how stretches are cut.
func TestOrderOfInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, w := someTickets(t), World{FreeSlots: rapid.Int64Range(0, 5).Draw(t, "free")}
		c.WeightTicket, c.ReportPending = 1, true
		jobs, running := anyJobs(t, rapid.IntRange(0, 12).Draw(t, "jobs")), somebody(t, rapid.IntRange(0, 5).Draw(t, "running"))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var other []Job
		for _, j := range jobs {
			for task := range j.Count { // each proc a stretch
				one := j
				one.ID.Proc, one.Count = j.ID.Proc+task, 1
				other = append(other, one)
			}
		}
		random.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		others := slices.Clone(running)
		random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		a, b := Rank(c, w, jobs, running), Rank(c, w, other, others)
		of := map[pool.JobID]Numbers{}
		for i, j := range other {
			of[j.ID] = b.Pending(i, 0)
		}
		for i, j := range jobs {
			for task := range j.Count {
				if id := (pool.JobID{Cluster: j.ID.Cluster, Proc: j.ID.Proc + task}); a.Pending(i, task) != of[id] {
					t.Fatalf("%v: %+v, and in another order %+v", id, a.Pending(i, task), of[id])
				}
			}
		}
		for i, j := range others {
			if at := slices.IndexFunc(running, func(o Job) bool { return o.ID == j.ID }); a.Running(at) != b.Running(i) {
				t.Fatalf("%v: %+v, and in another order %+v", j.ID, a.Running(at), b.Running(i))
			}
		}
		var first, second []pool.JobID
		for _, p := range a.Places() {
			for task := range p.Count {
				first = append(first, pool.JobID{Cluster: jobs[p.Job].ID.Cluster, Proc: jobs[p.Job].ID.Proc + p.From + task})
			}
		}
		for _, p := range b.Places() {
			second = append(second, other[p.Job].ID)
		}
		if !slices.Equal(first, second) {
			t.Fatalf("order %v, and in another order %v", first, second)
		}
	})
}

// Jobs that are alike but for their IDs have the same priority if neither the functional nor the
// share tree policy has tickets, and override tickets are not shared. Otherwise they do not: one
// goes before the other, and leaves less to it.
func TestEqualJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, w := anyConfig(t), anyWorld(t)
		c.TicketsFunctional, c.TicketsShare, c.ShareOverride = 0, 0, false
		jobs := anyJobs(t, rapid.IntRange(1, 8).Draw(t, "jobs"))
		n := len(jobs)
		for i := range jobs {
			jobs[i].ID, jobs[i].Count = pool.JobID{Cluster: i + 1}, 1
		}
		for i := range n {
			twin := jobs[i]
			twin.ID.Cluster += n
			jobs = append(jobs, twin)
		}
		r := Rank(c, w, jobs, nil)
		for i := range n {
			if a, b := r.Pending(i, 0), r.Pending(n+i, 0); a != b {
				t.Fatalf("twins have %+v and %+v", a, b)
			}
		}
	})
}

// The functional policy gives all that it has to those that run, if any of them has shares in a
// category with weight.
func TestRunningHaveThePool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, running := someTickets(t), somebody(t, rapid.IntRange(0, 20).Draw(t, "jobs"))
		r := Rank(c, World{}, somebody(t, rapid.IntRange(0, 5).Draw(t, "pending")), running)
		sum, want := 0.0, 0.0
		for i, j := range running {
			sum += r.Running(i).FTckt
			if c.Users[j.User].FShare*c.WeightUser+c.Projects[j.Project].FShare*c.WeightProject+c.Departments[j.Department].FShare*c.WeightDepartment+j.JobShare*c.WeightJob > 0 {
				want = c.TicketsFunctional
			}
		}
		if math.Abs(sum-want) > 1e-9*want {
			t.Fatalf("%v functional tickets are given, want %v", sum, want)
		}
	})
}

// Without jobs that run, the first of those that wait gets all of the categories in which it
// has shares: it is alone. Nobody else gets more of any.
func TestFirstHasItsCategories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, jobs := someTickets(t), somebody(t, rapid.IntRange(1, 20).Draw(t, "jobs"))
		c.Hierarchy, c.MaxFunctional = nil, 50
		r := Rank(c, World{FreeSlots: 50}, jobs, nil)
		weights := c.WeightUser + c.WeightProject + c.WeightDepartment + c.WeightJob
		somebodyHas, found := false, false
		for i, j := range jobs {
			parts, some := 0.0, false
			for _, x := range [][2]float64{{c.WeightUser, c.Users[j.User].FShare}, {c.WeightProject, c.Projects[j.Project].FShare}, {c.WeightDepartment, c.Departments[j.Department].FShare}, {c.WeightJob, j.JobShare}} {
				if x[1] > 0 {
					parts, some = parts+x[0], true
				}
			}
			somebodyHas = somebodyHas || some && weights > 0
			want, got := 0.0, r.Pending(i, 0).FTckt
			if weights > 0 {
				want = c.TicketsFunctional * parts / weights
			}
			found = found || some && math.Abs(got-want) <= 1e-9*want
			if got > want*(1+1e-9) {
				t.Fatalf("job %d has %v functional tickets, of its categories' %v", i, got, want)
			}
		}
		if somebodyHas && !found {
			t.Fatalf("no job has all of its categories")
		}
	})
}

// More shares of its user never bring the only job that waits fewer functional tickets, as long
// as none of the user's runs.
func TestMoreShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, running := someTickets(t), somebody(t, rapid.IntRange(0, 10).Draw(t, "jobs"))
		c.MaxFunctional = max(c.MaxFunctional, 1)
		job := somebody(t, 1)
		job[0].User = "dave"
		tickets := func(fshare float64) float64 {
			c.Users["dave"] = Object{FShare: fshare}
			return Rank(c, World{}, job, running).Pending(0, 0).FTckt
		}
		less, more := rapid.Float64Range(0, 1e6).Draw(t, "less"), rapid.Float64Range(0, 1e6).Draw(t, "more")
		if a, b := tickets(less), tickets(less+more); b < a*(1-1e-12) {
			t.Fatalf("%v tickets with %v shares, %v with %v", a, less, b, less+more)
		}
	})
}

// Many jobs, which several processors rank, have the numbers that few have.
func TestManyJobs(t *testing.T) {
	c, w := site()
	jobs := siteJobs(3 * manyJobs)
	r := Rank(c, w, jobs, siteRunning(100))
	for i := range jobs {
		if got := len(r.tickets.members); got != len(jobs)+100 {
			t.Fatalf("%d members, want %d", got, len(jobs)+100)
		}
		m := r.tickets.members[100+int(r.from[i])]
		party := r.tickets.crowd.parties[r.tickets.crowd.of[100+int(r.from[i])]]
		if user := c.Users[jobs[i].User]; m.job != &jobs[i] || m.task != 0 || r.tickets.crowd.objects[party.objects[ofUser]] != (object{user.FShare, user.OTicket}) || party.jobShare != jobs[i].JobShare {
			t.Fatalf("job %d: member %+v of party %+v", i, m, party)
		}
	}
	places := r.Places()
	for i := 1; i < len(places); i++ {
		a, b := places[i-1], places[i]
		if c := cmp.Or(cmp.Compare(b.Prio, a.Prio), cmp.Compare(jobs[a.Job].Submitted, jobs[b.Job].Submitted), jobs[a.Job].ID.Compare(jobs[b.Job].ID)); c >= 0 {
			t.Fatalf("%+v stands before %+v", a, b)
		}
	}
}
