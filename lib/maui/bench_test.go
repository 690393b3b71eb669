package maui

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// site is a pool with 500 users in 40 groups and 60 accounts, five classes and three QOS, that
// weighs credentials, fair share, queue time, expansion factor and size.
func site() (*Config, World) {
	s := setup{weights: map[Component]int64{FairShare: 100}, subCaps: map[Sub]int64{XFactor: 50},
		sub: map[Sub]int64{XFactor: 10, CredQOS: 1, CredClass: 1, CredUser: 1, FSUser: 10, FSAccount: 20, Proc: 2, TargetQueueTime: 1},
		creds: map[Kind]map[string]Credential{
			User:    {DefaultName: {FSTarget: 2, QList: []string{"low", "high"}}},
			Account: {DefaultName: {FSTarget: 5, FSMode: FSFloor}},
			QOS:     {"low": {Priority: -100}, "high": {Priority: 1000, QTWeight: 2, QTTarget: 8 * time.Hour}},
			Class:   {"class1": {Priority: 50, WCLimit: time.Hour}}},
		also: func(c *Config) { c.FSPolicy = DedicatedPS }}
	w := cluster32
	w.Used = Used{Total: 1e9, Of: [Kinds]map[string]float64{User: {}, Account: {}}}
	for i := range 500 {
		w.Used.Of[User][fmt.Sprint("user", i)] = float64(i * i * 24)
		w.Used.Of[Account][fmt.Sprint("account", i%60)] += float64(i * i * 24)
	}
	return s.config(), w
}

// siteJobs are jobs of it. Clusters of 20 procs are of one user each.
func siteJobs(n int) []Job {
	random := rand.New(rand.NewPCG(1, 2))
	jobs := make([]Job, n)
	var j Job
	for i := range jobs {
		if i%20 == 0 {
			user := int(500 * random.Float64() * random.Float64())
			since := noon - random.Int64N(7*86400)
			j = Job{User: fmt.Sprint("user", user), Group: fmt.Sprint("group", user%40), Account: fmt.Sprint("account", user%60),
				QOS: []string{"", "", "low", "high"}[random.IntN(4)], Class: fmt.Sprint("class", random.IntN(5)), Submitted: since, Since: since,
				WCLimit: 600 << random.IntN(8), Tasks: 1, ProcsPerTask: 1 << random.IntN(5), MemPerTask: 2000}
		}
		j.ID = pool.JobID{Cluster: 1 + i/20, Proc: i % 20}
		j.Bypassed = random.Int64N(3)
		jobs[i] = j
	}
	return jobs
}

func benchmarkRank(b *testing.B, n int, shuffled bool) {
	cfg, w := site()
	jobs := siteJobs(n)
	if shuffled {
		rand.New(rand.NewPCG(3, 4)).Shuffle(n, func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	}
	r, all := NewReckoner(cfg, w), known(jobs)
	b.ResetTimer()
	for b.Loop() {
		if got := r.rank(all); len(got) != n {
			b.Fatal(len(got))
		}
	}
}

// known returns what a queue has of jobs once it knows their facts.
func known(jobs []Job) []*Queued {
	all, queued := make([]*Queued, len(jobs)), make([]Queued, len(jobs))
	for i := range jobs {
		queued[i] = Queued{Part: jobprio.Part{Run: i, Procs: pool.Only(jobs[i].ID)}, Job: &jobs[i], submitter: jobs[i].User}
		all[i] = &queued[i]
	}
	return all
}

// rank puts jobs in order as Queue.line does where nothing is in the way of any.
func (r *Reckoner) rank(all []*Queued) []*Queued {
	r.profiles(all)
	r.starts(all)
	return inOrder(all)
}

func rank(r *Reckoner, jobs []Job) []*Queued { return r.rank(known(jobs)) }

func BenchmarkRank100k(b *testing.B)         { benchmarkRank(b, 100_000, false) }
func BenchmarkRank1M(b *testing.B)           { benchmarkRank(b, 1_000_000, false) }
func BenchmarkRank100kShuffled(b *testing.B) { benchmarkRank(b, 100_000, true) }
func BenchmarkRank1MShuffled(b *testing.B)   { benchmarkRank(b, 1_000_000, true) }

func BenchmarkOf(b *testing.B) {
	cfg, w := site()
	jobs := siteJobs(1000)
	r := NewReckoner(cfg, w)
	for i := 0; b.Loop(); i++ {
		if p := r.Of(&jobs[i%len(jobs)]); p.Start == 0 {
			b.Fatal(p)
		}
	}
}
