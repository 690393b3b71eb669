package maui

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// crowded returns n runs of jobs of some hundred users, and what runs.
func crowded(b *testing.B, n int) (w jobprio.Waiting) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		user := r.IntN(300)
		text := fmt.Sprintf(`[ Owner = "u%d"; UnixGroup = "g%d"; AcctGroup = "a%d"; Class = "c%d"; QDate = %d; WallTimeLimit = %d; RequestCpus = %d; RequestMemory = %d; JobPrio = %d ]`,
			user, user%20, user%40, r.IntN(5), queueNow.Unix()-int64(r.IntN(1_000_000)), 600*(1+r.IntN(100)), 1+r.IntN(8), 100*r.IntN(100), max(0, r.IntN(10)-7))
		ad, err := classad.ParseAd(text)
		if err != nil {
			b.Fatal(err)
		}
		run := jobprio.Run{Procs: pool.Procs{Cluster: i + 1, First: 0, Last: r.IntN(5)}, Submitter: "u@x", Ad: ad}
		if w.Idle = append(w.Idle, run); i%20 == 0 {
			run.Cluster += n
			w.Running = append(w.Running, jobprio.Running{Run: run, Started: queueNow.Add(-time.Hour)})
		}
	}
	return w
}

func BenchmarkOrder100k(b *testing.B) {
	w := crowded(b, 100_000)
	for _, c := range []struct {
		name  string
		limit string
	}{{"plain", ""}, {"limits", "MAXJOB MAXPROC MAXPS MAXIJOB MAXIPROC"}} {
		b.Run(c.name, func(b *testing.B) {
			cfg := Default()
			if c.limit != "" {
				cfg.Credentials[User] = map[string]Credential{DefaultName: {
					Limits:    [Limits]Bound{MaxJob: bound(20, 40), MaxProc: bound(50, 100), MaxPS: bound(1e6, 2e6)},
					IdleLimit: [Limits]Bound{MaxJob: bound(200, 200), MaxProc: bound(500, 500)},
				}}
				cfg.Credentials[Group] = map[string]Credential{"g1": {Limits: [Limits]Bound{MaxPE: bound(100, 100)}}}
				cfg.Accrual = FullPolicy
			}
			q := NewQueue(&cfg, queueWorld)
			for b.Loop() {
				q.Order(w)
			}
		})
	}
}
