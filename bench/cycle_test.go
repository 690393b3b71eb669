package bench

import (
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// BenchmarkCycle is the decision alone, on what BenchmarkNegotiate reads and
// writes besides.
func BenchmarkCycle(b *testing.B) {
	now := time.Unix(1800000000, 0)
	cfg := negotiator.Config{
		Params:         accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1000, NiceFactor: 1e7, RemoteFactor: 1e7},
		UseSlotWeights: true, SlotWeight: expression(b, "Cpus"), RequestClaimTimeout: 10 * time.Minute,
		Reserve: negotiator.Reserve{Fraction: 0.1, Time: 24 * time.Hour},
		Preemption: negotiator.Preemption{Consider: true, Requirements: expression(b, "(time() - EnteredCurrentState) > 3600"),
			Rank: expression(b, "(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)")},
	}
	for _, f := range fixtures {
		b.Run(f.name, func(b *testing.B) {
			s, err := spool.Open(f.dir(b), spool.Options{Program: "bench", Now: now})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if err := s.View(func(v *spool.View) error {
				p, matches := snapshot(v, s.Domain()), 0
				for b.Loop() {
					matches = len(negotiator.Cycle(p, cfg, now).Matches)
				}
				b.ReportMetric(float64(matches), "matches")
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func expression(b *testing.B, text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// snapshot returns the pool of a spool in which all jobs are idle and nobody is
// in a group.
func snapshot(v *spool.View, domain string) negotiator.Pool {
	slots, _ := v.Slots()
	p := negotiator.Pool{Slots: slots, Claims: v.Claims(), Submitters: v.Submitters(), Backoffs: v.Backoffs()}
	for _, c := range v.Clusters() {
		owner, _ := c.Ad.EvalString(&classad.Context{}, pool.AttrOwner)
		for _, r := range c.Runs {
			p.Jobs = append(p.Jobs, jobprio.Run{
				Procs:     pool.Procs{Cluster: c.ID, First: r.First, Last: r.First + r.Count() - 1},
				Submitter: accountant.SubmitterName(owner, "", domain),
				Ad:        r.Proc(r.First),
			})
		}
	}
	return p
}
