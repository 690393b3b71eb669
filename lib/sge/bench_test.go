package sge

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// benchNow is when the benchmarks' runs are.
const benchNow = 1_700_000_000

// site is a pool with 500 users in 40 departments and 60 projects, which weighs everything.
func site() (*Config, World) {
	c := &Config{WeightPriority: 1, WeightUrgency: 0.1, WeightTicket: 0.01, WeightWaitingTime: 0.278, WeightDeadline: 3600000,
		WeightUser: 0.25, WeightProject: 0.25, WeightDepartment: 0.25, WeightJob: 0.25, TicketsFunctional: 1000000, TicketsShare: 1000000,
		ShareFunctional: true, ShareOverride: true, MaxFunctional: 200, MaxPendingTasks: 50, Compensation: 5, ReportPending: true,
		Hierarchy: []TicketPolicy{Override, Functional, ShareTree},
		Complexes: []Complex{{SlotsComplex, "s", Int, 1000}, {"lic", "l", Int, 500}, {"site", "site", String, 700}, {"h_rt", "h_rt", Time, 0.01}},
		Users:     map[string]Object{}, Projects: map[string]Object{}, Departments: map[string]Object{}}
	w := World{Now: time.Unix(benchNow, 0), FreeSlots: 1000, Used: Used{Own: map[string]float64{}, Project: map[string]float64{}, Within: map[[2]string]float64{}}}
	root := &Node{Name: "Root", Shares: 1}
	for i := range 60 {
		project := fmt.Sprint("project", i)
		c.Projects[project] = Object{FShare: float64(10 * (i % 7))}
		root.Children = append(root.Children, &Node{Name: project, Shares: float64(1 + i%5)})
		w.Used.Project[project] = float64(i * i)
	}
	for i := range 40 {
		c.Departments[fmt.Sprint("department", i)] = Object{FShare: float64(100 + i)}
	}
	for i := range 500 {
		user, project := fmt.Sprint("user", i), root.Children[i%60]
		o := Object{FShare: float64(i % 90)}
		if i%10 == 0 {
			o.OTicket = float64(1000 * i)
		}
		c.Users[user] = o
		project.Children = append(project.Children, &Node{Name: user, Shares: float64(1 + i%3)})
		w.Used.Within[[2]string{user, project.Name}] = float64(i * i)
	}
	c.Tree = root
	return c, w
}

// installed is the configuration that Grid Engine's installer leaves.
func installed() (*Config, World) {
	c, w := site()
	c.TicketsFunctional, c.TicketsShare, c.Tree, c.WeightWaitingTime = 0, 0, nil, 0
	c.Complexes, c.Users, c.Projects, c.Departments = c.Complexes[:1], nil, nil, nil
	return c, w
}

// siteJobs are jobs of it. Clusters of 20 procs are of one user each.
func siteJobs(n int) []Job {
	random := rand.New(rand.NewPCG(1, 2))
	jobs := make([]Job, n)
	var j Job
	for i := range jobs {
		if i%20 == 0 {
			user := int(500 * random.Float64() * random.Float64())
			j = Job{User: fmt.Sprint("user", user), Project: fmt.Sprint("project", user%60), Department: fmt.Sprint("department", user%40),
				Submitted: benchNow - random.Int64N(7*86400), POSIX: -random.Int64N(3), Slots: 1 << random.IntN(5), LeastSlots: 1, CPUs: 1}
			if random.IntN(10) == 0 {
				j.JobShare, j.Deadline = float64(random.IntN(3)), benchNow+random.Int64N(86400)
			}
			if random.IntN(50) == 0 {
				j.OverrideTickets = 500
			}
		}
		j.ID, j.Count = pool.JobID{Cluster: 1 + i/20, Proc: i % 20}, 1
		j.Requests = []Request{{Complex: 1, Amount: float64(i % 3)}, {Complex: 3, Amount: float64(int64(600) << (i / 20 % 8))}}
		jobs[i] = j
	}
	return jobs
}

// siteRunning are jobs that run.
func siteRunning(n int) []Job {
	jobs := siteJobs(20 * n)
	for i := range n {
		jobs[i] = jobs[20*i]
		jobs[i].ID.Cluster += 10_000_000
	}
	return jobs[:n]
}

func benchmarkRank(b *testing.B, n int, of func() (*Config, World), change func(*Config)) {
	c, w := of()
	if change != nil {
		change(c)
	}
	pending, running := siteJobs(n), siteRunning(2000)
	b.ResetTimer()
	for b.Loop() {
		if got := Rank(c, w, pending, running).Places(); len(got) > n || len(got) == 0 {
			b.Fatal(len(got))
		}
	}
}

func BenchmarkRank100k(b *testing.B)          { benchmarkRank(b, 100_000, site, nil) }
func BenchmarkRank1M(b *testing.B)            { benchmarkRank(b, 1_000_000, site, nil) }
func BenchmarkRankInstalled100k(b *testing.B) { benchmarkRank(b, 100_000, installed, nil) }
func BenchmarkRankInstalled1M(b *testing.B)   { benchmarkRank(b, 1_000_000, installed, nil) }

// With every job in the functional policy's contest.
func BenchmarkRankContest100k(b *testing.B) { benchmarkRank(b, 100_000, site, allCompete) }
func BenchmarkRankContest1M(b *testing.B)   { benchmarkRank(b, 1_000_000, site, allCompete) }

func allCompete(c *Config) { c.MaxFunctional = 1_000_000 }

func BenchmarkRankUnshared1M(b *testing.B) {
	benchmarkRank(b, 1_000_000, site, func(c *Config) { c.ShareFunctional, c.MaxFunctional = false, 1_000_000 })
}

// With the policies in another order, so that tickets decide which job of a user goes first.
func BenchmarkRankOtherOrder1M(b *testing.B) {
	benchmarkRank(b, 1_000_000, site, func(c *Config) { c.Hierarchy = []TicketPolicy{ShareTree, Functional, Override} })
}
