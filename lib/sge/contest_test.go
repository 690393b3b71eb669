package sge

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// slow gives functional and override tickets as sched_conf(5) and what was seen of Grid Engine
// say: it looks at everybody in every round.
type slow struct {
	c       *Config
	jobs    []Job // in the order of IDs; the first ones run
	running int
	before  []float64
	given   [TicketPolicies][]float64
}

// names are whose a job is, by kind; those with nothing of what is asked for are left out.
func (s *slow) names(j *Job, of func(Object) float64) (names [kinds]string) {
	for kind, o := range s.objects(j) {
		if of(o) > 0 {
			names[kind] = fmt.Sprint(kind, [kinds]string{j.User, j.Department, j.Project}[kind])
		}
	}
	return names
}

func (s *slow) objects(j *Job) [kinds]Object {
	return [kinds]Object{ofUser: s.c.Users[j.User], ofDepartment: s.c.Departments[j.Department], ofProject: s.c.Projects[j.Project]}
}

func fshare(o Object) float64  { return o.FShare }
func oticket(o Object) float64 { return o.OTicket }

// first returns who of some goes first by value, the order in a category and so on.
func (s *slow) first(some []int, value func(i int) float64, submission bool) int {
	return slices.MinFunc(some, func(a, b int) int {
		c := cmp.Compare(value(b), value(a))
		if submission {
			c = cmp.Or(c, cmp.Compare(s.jobs[a].Submitted, s.jobs[b].Submitted))
		}
		return cmp.Or(c, cmp.Compare(a, b))
	})
}

// heads returns the first job of each category of those that are left.
func (s *slow) heads(left map[int]bool, category func(i int) string, before []float64, submission bool) (heads []int) {
	all := map[string][]int{}
	for i := range s.jobs {
		if left[i] {
			all[category(i)] = append(all[category(i)], i)
		}
	}
	for _, some := range all {
		heads = append(heads, s.first(some, func(i int) float64 { return before[i] }, submission))
	}
	return heads
}

func (s *slow) functional(before []float64) (unseen []int) {
	given := make([]float64, len(s.jobs))
	s.given[Functional] = given
	count, sums := map[string]float64{}, [terms]float64{}
	names := func(i int) [kinds]string { return s.names(&s.jobs[i], fshare) }
	shares := func(i int, more float64) (x [terms]float64) {
		for kind, o := range s.objects(&s.jobs[i]) {
			if x[kind] = o.FShare; x[kind] > 0 && s.c.ShareFunctional {
				x[kind] /= count[names(i)[kind]] + more
			}
		}
		x[ofJob] = s.jobs[i].JobShare
		return x
	}
	weights := [terms]float64{ofUser: s.c.WeightUser, ofDepartment: s.c.WeightDepartment, ofProject: s.c.WeightProject, ofJob: s.c.WeightJob}
	amount := func(shares, sums [terms]float64, reduced bool) float64 {
		total, part := 0.0, 0.0
		for _, i := range []int{ofUser, ofDepartment, ofProject, ofJob} {
			if !reduced || sums[i] > 0 {
				total += weights[i]
			}
		}
		for _, i := range []int{ofUser, ofDepartment, ofProject, ofJob} {
			if sums[i] > 0 && total > 0 {
				part += weights[i] / total * (shares[i] * s.c.TicketsFunctional / sums[i])
			}
		}
		return part
	}
	for i := range s.running {
		for _, name := range names(i) {
			count[name]++
		}
	}
	for i := range s.running {
		for k, x := range shares(i, 0) {
			sums[k] += x
		}
	}
	left := map[int]bool{}
	for i := range s.jobs {
		switch some := names(i) != [kinds]string{} || s.jobs[i].JobShare > 0; {
		case i < s.running:
			given[i] = amount(shares(i, 0), sums, true)
		case some:
			left[i] = true
		}
	}
	category := func(i int) string { return fmt.Sprint(names(i), s.jobs[i].JobShare) }
	trial := make([]float64, len(s.jobs))
	for range s.c.MaxFunctional {
		if len(left) == 0 {
			break
		}
		heads := s.heads(left, category, before, true)
		for _, i := range heads {
			x, sum := shares(i, 1), sums
			for k := range sum {
				sum[k] += 0.001
				if !s.c.ShareFunctional || k == ofJob {
					sum[k] += x[k]
				}
			}
			trial[i] = amount(x, sum, false)
		}
		won := s.first(heads, func(i int) float64 { return trial[i] + before[i] }, true)
		delete(left, won)
		for _, i := range s.heads(left, category, before, true) {
			if category(i) == category(won) {
				trial[i] = trial[won]
			}
		}
		for kind, name := range names(won) {
			count[name]++
			if !s.c.ShareFunctional || count[name] == 1 {
				sums[kind] += s.objects(&s.jobs[won])[kind].FShare
			}
		}
		sums[ofJob] += s.jobs[won].JobShare
		given[won] = amount(shares(won, 0), sums, false)
	}
	unseen = s.heads(left, category, before, true)
	for i := range s.jobs {
		for _, head := range unseen {
			if left[i] && category(i) == category(head) {
				given[i] = trial[head]
			}
		}
	}
	return unseen
}

func (s *slow) override(before []float64) {
	given := make([]float64, len(s.jobs))
	s.given[Override] = given
	count := map[string]float64{}
	names := func(i int) [kinds]string { return s.names(&s.jobs[i], oticket) }
	amount := func(i int, more float64) float64 {
		var x [kinds]float64
		for kind, o := range s.objects(&s.jobs[i]) {
			if x[kind] = o.OTicket; x[kind] > 0 && s.c.ShareOverride {
				x[kind] /= count[names(i)[kind]] + more
			}
		}
		return x[ofUser] + x[ofProject] + x[ofDepartment] + s.jobs[i].OverrideTickets
	}
	for i := range s.running {
		for _, name := range names(i) {
			count[name]++
		}
	}
	left := map[int]bool{}
	for i := range s.jobs {
		if i < s.running || !s.c.ShareOverride {
			given[i] = amount(i, 0)
		} else if names(i) != [kinds]string{} || s.jobs[i].OverrideTickets > 0 {
			left[i] = true
		}
	}
	for len(left) > 0 {
		heads := s.heads(left, func(i int) string { return fmt.Sprint(names(i), s.jobs[i].OverrideTickets) }, before, false)
		won := s.first(heads, func(i int) float64 { return amount(i, 1) }, false)
		given[won] = amount(won, 1)
		delete(left, won)
		for _, name := range names(won) {
			count[name]++
		}
	}
}

// run has the policies give tickets in their order.
func (s *slow) run() {
	nothing := make([]float64, len(s.jobs))
	s.before = make([]float64, len(s.jobs))
	policies, dependent := s.c.policies()
	for n, policy := range policies {
		before := nothing
		if n < dependent {
			before = s.before
		}
		var unseen []int
		switch policy {
		case Functional:
			unseen = s.functional(before)
		case Override:
			s.override(before)
		}
		for i, x := range s.given[policy] {
			if n < dependent && !slices.Contains(unseen, i) {
				s.before[i] += x
			}
		}
	}
}

// somebody draws jobs of few users, departments and projects, of which many have the same.
func somebody(t *rapid.T, n int) []Job {
	jobs := make([]Job, n)
	name := rapid.SampledFrom([]string{"", "alice", "bob", "carol"})
	some := rapid.SampledFrom([]float64{0, 0, 0, 1, 50, 3.7e9})
	for i := range jobs {
		jobs[i] = Job{ID: pool.JobID{Cluster: 1 + i/3, Proc: i % 3}, Count: 1, User: name.Draw(t, "user"), Department: name.Draw(t, "department"), Project: name.Draw(t, "project"),
			Submitted: rapid.Int64Range(0, 2).Draw(t, "submitted"), JobShare: some.Draw(t, "job share"), OverrideTickets: some.Draw(t, "override tickets"), Slots: 1, LeastSlots: 1}
	}
	return jobs
}

// someTickets draws a configuration of the functional and the override policy.
func someTickets(t *rapid.T) *Config {
	weight := rapid.SampledFrom([]float64{0, 0.25, 0.25, 1, 0.3})
	number := rapid.SampledFrom([]float64{0, 0, 100, 100, 300, 7, 4294967295})
	c := &Config{WeightUser: weight.Draw(t, "weight_user"), WeightProject: weight.Draw(t, "weight_project"), WeightDepartment: weight.Draw(t, "weight_department"),
		WeightJob: weight.Draw(t, "weight_job"), TicketsFunctional: rapid.SampledFrom([]float64{1, 1e4, 1e6}).Draw(t, "pool"),
		ShareFunctional: rapid.Bool().Draw(t, "share functional"), ShareOverride: rapid.Bool().Draw(t, "share override"),
		MaxFunctional: rapid.IntRange(0, 30).Draw(t, "limit"), MaxPendingTasks: 50,
		Hierarchy: rapid.SampledFrom([][]TicketPolicy{nil, {Override}, {Override, Functional}, {Functional, Override}, {Functional}, {Functional, ShareTree, Override}}).Draw(t, "hierarchy"),
		Users:     map[string]Object{}, Projects: map[string]Object{}, Departments: map[string]Object{}}
	for _, objects := range []map[string]Object{c.Users, c.Projects, c.Departments} {
		for _, name := range []string{"alice", "bob", "carol"} {
			objects[name] = Object{FShare: number.Draw(t, "fshare"), OTicket: number.Draw(t, "oticket")}
		}
	}
	return c
}

// TestContest: what the heap finds is to the last bit what looking at everybody in every
// round finds, equal ones and those left over included.
func TestContest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someTickets(t)
		jobs := somebody(t, rapid.IntRange(0, 25).Draw(t, "jobs"))
		asSlow(t, c, jobs, rapid.IntRange(0, min(len(jobs), 4)).Draw(t, "running"))
	})
}

// TestContestRounding: jobs whose tickets are equal by rounding alone go by submission, though
// one had more before.
func TestContestRounding(t *testing.T) {
	for pool := range 100 {
		jobs := jobsOf("alice", "alice", "bob", "bob")
		jobs[0].OverrideTickets, jobs[2].OverrideTickets = 1<<30-0x1p-23, 1<<30-0x1p-22
		jobs[0].Submitted = 1
		asSlow(t, &Config{WeightUser: 1, TicketsFunctional: float64(pool), MaxFunctional: 200, Hierarchy: []TicketPolicy{Override, Functional},
			Users: map[string]Object{"alice": {FShare: 100}, "bob": {FShare: 100}}}, jobs, 0)
	}
}

// asSlow compares tickets with those of the slow way.
func asSlow(t interface{ Fatalf(string, ...any) }, c *Config, jobs []Job, running int) {
	members := make([]member, len(jobs))
	for i := range jobs {
		members[i] = member{job: &jobs[i]}
	}
	want := &slow{c: c, jobs: jobs, running: running}
	want.run()
	got := newPass(c, &Used{}, members, running)
	for _, policy := range []TicketPolicy{Functional, Override} {
		for i := range jobs {
			list, at := got.ran[policy], i
			if i >= running {
				list, at = got.waits[policy], i-running
			}
			if x := append(slices.Clone(list), make([]float64, len(jobs))...)[at]; x != want.given[policy][i] {
				t.Fatalf("%v tickets of job %d: %v, want %v", policy, i, x, want.given[policy][i])
			}
		}
	}
}
