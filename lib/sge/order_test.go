package sge

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// dispatched returns the procs that wait as Grid Engine starts them: of each array the first
// task that is left competes, and of all those the one of the highest priority goes.
func dispatched(r *Ranking, jobs []Job) (order []pool.JobID) {
	type task struct {
		id        pool.JobID
		prio      float64
		submitted int64
	}
	var arrays [][]task
	var last *Job
	for _, i := range r.order {
		job := &jobs[i]
		if job.Count == 0 {
			continue
		}
		if last == nil || last.ID.Cluster != job.ID.Cluster || last.POSIX != job.POSIX || last.Submitted != job.Submitted || last.User != job.User ||
			last.Project != job.Project || last.Department != job.Department || last.JobShare != job.JobShare || last.OverrideTickets != job.OverrideTickets {
			arrays = append(arrays, nil)
		}
		last = job
		for n := range job.Count {
			a := &arrays[len(arrays)-1]
			*a = append(*a, task{pool.JobID{Cluster: job.ID.Cluster, Proc: job.ID.Proc + n}, r.Pending(int(i), n).Prio, job.Submitted})
		}
	}
	for len(arrays) > 0 {
		first := slices.MinFunc(arrays, func(a, b []task) int {
			return cmp.Or(cmp.Compare(b[0].prio, a[0].prio), cmp.Compare(a[0].submitted, b[0].submitted), a[0].id.Compare(b[0].id))
		})
		at := slices.IndexFunc(arrays, func(a []task) bool { return &a[0] == &first[0] })
		order = append(order, first[0].id)
		if arrays[at] = first[1:]; len(arrays[at]) == 0 {
			arrays = slices.Delete(arrays, at, at+1)
		}
	}
	return order
}

// Equal procs of a cluster go one after the other, whatever tickets they have: as if of each
// array only the first task that is left competed.
func TestArraysInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someTickets(t)
		c.WeightTicket, c.WeightPriority, c.ReportPending, c.MaxFunctional = 1, 0.1, true, rapid.IntRange(0, 6).Draw(t, "limit")
		var jobs []Job
		proc := 0
		for i, j := range somebody(t, rapid.IntRange(0, 9).Draw(t, "jobs")) {
			if i > 0 && rapid.Bool().Draw(t, "the same") {
				j = jobs[i-1]
			}
			if i%3 == 0 {
				proc = 0
			}
			j.ID, j.Count, j.POSIX = pool.JobID{Cluster: 1 + i/3, Proc: proc}, rapid.IntRange(0, 3).Draw(t, "count"), rapid.Int64Range(0, 1).Draw(t, "priority")
			proc += j.Count
			jobs = append(jobs, j)
		}
		r := Rank(c, World{FreeSlots: rapid.Int64Range(0, 4).Draw(t, "free")}, jobs, nil)
		var got []pool.JobID
		for _, p := range r.Places() {
			for task := range p.Count {
				id := jobs[p.Job].ID
				got = append(got, pool.JobID{Cluster: id.Cluster, Proc: id.Proc + p.From + task})
			}
		}
		if want := dispatched(r, jobs); !slices.Equal(got, want) {
			t.Fatalf("order %v, want %v", got, want)
		}
	})
}

// Beyond the limit tasks have what they would get as the last served, which may be more than
// the first has. They stand behind it all the same, and their numbers are their own.
func TestLaterTaskWithMore(t *testing.T) {
	c, _ := functionalExample()
	c.MaxFunctional = 1
	array := Job{ID: pool.JobID{Cluster: 1}, Count: 3, User: "alice"}
	r := Rank(c, World{FreeSlots: 10}, []Job{array, {ID: pool.JobID{Cluster: 2}, Count: 1, User: "carol"}}, nil)
	first, second := r.Pending(0, 0), r.Pending(0, 1)
	if second.Tckts <= first.Tckts {
		t.Fatalf("the second task has %v tickets and the first %v, want more", second.Tckts, first.Tckts)
	}
	if got, want := places(r), "1+0-0:0.5 0+0-2:1e-05"; got != want {
		t.Errorf("places %s, want %s", got, want)
	}
}

// Arrays are not torn where several processors make the order.
func TestArrayOfManyStretches(t *testing.T) {
	c, _ := functionalExample()
	c.MaxFunctional = 1
	jobs := make([]Job, 4*manyJobs)
	for i := range jobs {
		jobs[i] = Job{ID: pool.JobID{Cluster: 1 + i/(3*manyJobs), Proc: i}, Count: 1, User: "alice"}
	}
	c.MaxPendingTasks = len(jobs)
	r := Rank(c, World{FreeSlots: int64(len(jobs))}, jobs, nil)
	for i, p := range r.Places() {
		if least := r.Pending(0, 0).Prio; p.Prio > least && p.Job < 3*manyJobs {
			t.Fatalf("place %d: %+v, want it not above the first task's %v", i, p, least)
		}
	}
}

// Sums and fractions are reckoned in Grid Engine's order, to the last bit: what is shown of
// tickets is cut, and equal priorities are told apart by it.
func TestOrderOfReckoning(t *testing.T) {
	c := &Config{WeightPriority: 0.1, WeightUrgency: 0.2, WeightTicket: 0.3}
	if got, want := c.prio(1, 1, 1), 0.6; got != want {
		t.Errorf("0.2 + 0.3 + 0.1 = %v, want %v", got, want)
	}
	tickets := amounts{ShareTree: 0.2, Functional: 0.3, Override: 0.1}
	if got, want := tickets.sum(), 0.6; got != want {
		t.Errorf("0.2 + 0.3 + 0.1 tickets = %v, want %v", got, want)
	}
	c = &Config{WeightUser: 1, TicketsFunctional: 49, Users: map[string]Object{"alice": {FShare: 1}, "bob": {FShare: 48}}}
	if got := Rank(c, World{}, nil, jobsOf("alice", "bob")).Running(0).FTckt; got != 1 {
		t.Errorf("1 of 49 shares of 49 tickets = %v, want 1", got)
	}
}

// Siblings that the compensation factor brings to the same weight have it to the last bit, as in
// Grid Engine, so that the IDs of their jobs decide.
func TestOrderOfCompensation(t *testing.T) {
	c := &Config{Compensation: 0.5, Tree: nodeOf("Root", 1, nodeOf("alice", 30), nodeOf("bob", 30))}
	f := forestOf(c, Used{Own: map[string]float64{"alice": 46.89, "bob": 21.68}}, jobsOf("alice", "bob"), 0)
	if alice, bob := f.branches[1], f.branches[2]; alice.weight != bob.weight || !alice.compensated || !bob.compensated {
		t.Errorf("weights %v and %v, want the same", alice.weight, bob.weight)
	}
}
