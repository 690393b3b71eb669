package bench

import (
	"os"
	"slices"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// fixtures are the pools that negotiation is measured on: slots and their
// kinds, clusters, procs and shapes, submitters.
var fixtures = []*fixture{
	{name: "10k-slots-100k-jobs", slots: 10_000, machines: machines{kinds: 50}, clusters: 200, procs: 500, jobs: clusters{shapes: 200, submitters: 100}},
	{name: "10k-slots-200k-jobs", slots: 10_000, machines: machines{kinds: 50}, clusters: 400, procs: 500, jobs: clusters{shapes: 200, submitters: 100}},
	{name: "20k-slots-100k-jobs", slots: 20_000, machines: machines{kinds: 50}, clusters: 200, procs: 500, jobs: clusters{shapes: 200, submitters: 100}},
	{name: "10k-slots-100k-procs-that-differ", slots: 10_000, machines: machines{kinds: 50}, clusters: 200, procs: 500, jobs: clusters{shapes: 200, submitters: 100}, differ: true},
	{name: "100k-slots-1M-jobs", slots: 100_000, machines: machines{kinds: 500}, clusters: 2000, procs: 500, jobs: clusters{shapes: 500, submitters: 1000}},
	{name: "1k-slots-one-shape-each", slots: 1000, machines: machines{kinds: 50}, clusters: 100, procs: 100, jobs: clusters{shapes: 100, submitters: 100}},
	{name: "1k-slots-100-shapes-each", slots: 1000, machines: machines{kinds: 50}, clusters: 10_000, procs: 1, jobs: clusters{shapes: 10_000, submitters: 100}},
	{name: "idle", slots: 1000, machines: machines{kinds: 50}, clusters: 100_000, procs: 1, jobs: clusters{shapes: 100, submitters: 100}},
	{name: "one-shape-each", slots: 10_000, machines: machines{kinds: 50}, clusters: 100, procs: 100, jobs: clusters{shapes: 100, submitters: 100}},
	{name: "100-shapes-each", slots: 10_000, machines: machines{kinds: 50}, clusters: 10_000, procs: 1, jobs: clusters{shapes: 10_000, submitters: 100}},
	{name: "all-apart", slots: 5000, machines: machines{kinds: 50, apart: true}, clusters: 5000, procs: 1, jobs: clusters{shapes: 5000, submitters: 100}},
	{name: "1k-partitionable-64k-jobs", slots: 1000, machines: machines{kinds: 20, partitionable: true}, clusters: 128, procs: 500, jobs: clusters{shapes: 20, submitters: 100, light: true}},
	{name: "100k-running-100k-jobs", slots: 100_000, machines: machines{kinds: 500}, clusters: 1000, procs: 100, jobs: clusters{shapes: 200, submitters: 500}, full: true},
	{name: "10k-running-10k-jobs", slots: 10_000, machines: machines{kinds: 50}, clusters: 100, procs: 100, jobs: clusters{shapes: 100, submitters: 100}, full: true},
}

// ways are the ways to run negotiate: deciding only, the same with the report as
// JSON, really, on a copy of the spool, deciding again when that is done, and a later cycle.
var ways = []struct {
	name         string
	args         []string
	changes, two bool
}{
	{name: "dry-run", args: []string{"-dry-run", "-q"}},
	{name: "json", args: []string{"-dry-run", "-json"}},
	{name: "real", args: []string{"-q"}, changes: true},
	{name: "again", args: []string{"-dry-run", "-q"}, two: true},
	{name: "later", args: []string{"-q"}, two: true},
}

// BenchmarkNegotiate is a whole negotiate on each of the fixtures, with the most
// memory that it had, and the median of its processor time.
func BenchmarkNegotiate(b *testing.B) {
	testenv.Commands(b)
	for _, f := range fixtures {
		for _, way := range ways {
			b.Run(f.name+"/"+way.name, func(b *testing.B) {
				dir, most := f.dir(b), 0.0
				var took []time.Duration
				if way.two {
					dir = copied(b, dir)
					for range 3 { // the first matches jobs, the second finds out what to read
						resident(b, dir, "negotiate", "-q")
					}
				}
				for b.Loop() {
					run := spent
					if way.changes {
						run = onCopy
					}
					mb, processor := run(b, dir, "negotiate", way.args...)
					most, took = max(most, mb), append(took, processor)
				}
				slices.Sort(took)
				b.ReportMetric(most, "MB")
				b.ReportMetric(took[len(took)/2].Seconds()*1000, "cpu-ms")
			})
		}
	}
}

// onCopy does as spent on a copy of the spool, whose making is not timed.
func onCopy(b *testing.B, dir, name string, args ...string) (mb float64, processor time.Duration) {
	b.Helper()
	b.StopTimer()
	fresh := copied(b, dir)
	b.StartTimer()
	mb, processor = spent(b, fresh, name, args...)
	b.StopTimer()
	testenv.OK(b, os.RemoveAll(fresh))
	b.StartTimer()
	return mb, processor
}

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
			testenv.OK(b, err)
			defer s.Close()
			testenv.OK(b, s.View(func(v *spool.View) error {
				p, matches := snapshot(v, s.Domain()), 0
				for b.Loop() {
					matches = len(negotiation.Cycle(p, cfg, now).Matches)
				}
				b.ReportMetric(float64(matches), "matches")
				return nil
			}))
		})
	}
}

func expression(b *testing.B, text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	testenv.OK(b, err)
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
