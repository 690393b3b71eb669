package lifecycle

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// decision is what a cycle finds out.
type decision struct {
	seen  Snapshot
	plan  *negotiator.Plan
	taken map[string]int // steps, by owner
}

// plainly is what jobs have of which some may mostly stand for others, in the place of that in ofJobs.
var plainly = map[string][]string{
	"Requirements":   {"true", "true", "TARGET.Speed > 1", "Limit < TARGET.Speed", `TARGET.Colour == "red"`, "false"},
	"Owner":          {`"alice"`, `"alice"`, `"bob"`},
	"JobStatus":      {"1", "1", "1", "1", "5"},
	"JobPrio":        {"", "3", "5"},
	"PeriodicHold":   {"", "", "false", "Heat > 7", "time() > 0 && Heat > 7", "time() - QDate > 1000000"},
	"PeriodicRemove": {"", "", "", "NumHolds > 3"},
	"RequestCpus":    {"", "", "1", "2"},
	"RequestBananas": {""},
	"Rank":           {"", "TARGET.Memory", "TARGET.Speed"},
	"Limit":          {"", "Deep + 1", "1"},
	"Other":          {""}, // it is called like a scope: then all is read
}

// manyAlike adds slots, and clusters of a few kinds with more text than a segment needs to have an extract.
func manyAlike(t *rapid.T, tx *spool.Tx, now time.Time) {
	tx.Op("test")
	for n := range rapid.IntRange(0, 4).Draw(t, "slots") {
		ad := drawn(t, "slot", ofSlots, slotNames...)
		ad.SetString("Machine", fmt.Sprintf("n%d", n))
		if rapid.Bool().Draw(t, "held outside") {
			ad.SetString("State", "Claimed")
			ad.SetString("RemoteOwner", "eve@example.org")
		}
		tx.PutSlot(fmt.Sprintf("slot1@n%d", n), ad)
	}
	for _, name := range []string{"alice@example.org", "physics.dave@example.org"} {
		if rapid.IntRange(0, 2).Draw(t, "bounded") == 0 {
			tx.PutSubmitter(accountant.Record{Name: name, Priority: 0.5, At: now,
				Ceiling: accountant.Limit{Set: true, Slots: int64(rapid.IntRange(0, 2).Draw(t, "ceiling"))}, Floor: int64(rapid.IntRange(0, 1).Draw(t, "floor"))})
		}
	}
	addAlike(t, tx, now, rapid.IntRange(30, 60).Draw(t, "clusters"))
}

// addAlike adds clusters of a few kinds.
func addAlike(t *rapid.T, tx *spool.Tx, now time.Time, clusters int) {
	of := maps.Clone(ofJobs)
	maps.Copy(of, plainly)
	var kinds []*classad.Ad
	for range rapid.IntRange(1, 4).Draw(t, "kinds") {
		ad := drawn(t, "job", of, append(jobNames[:len(jobNames):len(jobNames)], "PeriodicRemove")...)
		ad.SetString("Text", strings.Repeat("x", 2500))
		kinds = append(kinds, ad)
	}
	for range clusters {
		one := rapid.SampledFrom(kinds).Draw(t, "kind").Clone()
		one.SetInt("QDate", now.Unix()+int64(rapid.IntRange(0, 20).Draw(t, "submitted")))
		one.SetInt("EnteredCurrentStatus", now.Unix())
		procs := 1
		if rapid.IntRange(0, 9).Draw(t, "wide") == 0 {
			procs = 3
		}
		tx.AddCluster(one, []spool.NewRun{{Count: procs, Ad: classad.New()}})
	}
}

// TestRepresentedLaw holds that a cycle in which nothing is matched decides the same about jobs of which some stand for others as about
// all, whatever the time: the plan, the steps of owners, and that nothing is due by jobs' own policy.
func TestRepresentedLaw(t *testing.T) {
	t.Parallel()
	represented, stood := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		dir, now := t.TempDir(), time.Unix(1790000000, 0)
		open := func() *spool.Spool {
			s, err := spool.Open(dir, spool.Options{Program: "test", UIDDomain: "example.org"})
			testenv.OK(rt, err)
			return s
		}
		s := open()
		defer func() { s.Close() }()
		testenv.OK(rt, s.Update(func(tx *spool.Tx) error {
			manyAlike(rt, tx, now)
			return nil
		}))
		if _, err := s.Fold(1, nil); err != nil {
			rt.Fatal(err)
		}
		cfg := negotiator.Config{
			Params: params, UseSlotWeights: true, RequestClaimTimeout: time.Hour, Steps: rapid.SampledFrom([]int{0, 500, 100_000}).Draw(rt, "steps"),
			Preemption: negotiator.Preemption{Consider: true, Requirements: expression(rt, rapid.SampledFrom([]string{
				"TARGET.Urgency > 1 && MY.RemoteUserPrio > 0", "false", "MY.RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2"}).Draw(rt, "preemption"))},
			Reserve: negotiator.Reserve{Fraction: 0.5, Time: time.Hour},
			Pie:     rapid.SampledFrom([]negotiator.Pie{negotiator.MaxMin, negotiator.Spins}).Draw(rt, "pie"),
		}
		if rapid.Bool().Draw(rt, "limited") {
			limits, err := concurrency.NewLimits(1e12, nil, map[string]float64{"lic": 1})
			testenv.OK(rt, err)
			cfg.Limits = limits
		}
		if rapid.Bool().Draw(rt, "groups") {
			groups, err := accountant.NewGroups([]accountant.Group{
				{Name: "physics", Quota: rapid.SampledFrom([]float64{0.3, 1, 2}).Draw(rt, "quota"), AcceptSurplus: rapid.Bool().Draw(rt, "accepts surplus")},
				{Name: "chemistry", Quota: 0.5, Dynamic: true},
			})
			testenv.OK(rt, err)
			cfg.Params.Groups = groups
		}
		decide := func(v *spool.View, lacks func() bool, budgets *classad.Budgets) (d decision) {
			d.seen = TakeSnapshot(v, "example.org", nil, policy.Beside{})
			d.taken = budgets.Taken()
			d.seen.Pool.Taken, d.seen.Pool.Lacks = d.taken, lacks
			d.plan = negotiation.Cycle(d.seen.Pool, cfg, now)
			return d
		}
		for range rapid.IntRange(4, 9).Draw(rt, "cycles") {
			now = now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(rt, "seconds")) * time.Second)
			if rapid.IntRange(0, 3).Draw(rt, "folded") == 2 {
				if _, err := s.Fold(1, nil); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.IntRange(0, 9).Draw(rt, "afresh") != 7 {
				s.Close()
				s = open()
			}
			change := rapid.IntRange(0, 20).Draw(rt, "change")
			testenv.OK(rt, s.Update(func(tx *spool.Tx) error {
				switch tx.Op("test"); {
				case change == 13:
					changePool(rt, tx, now)
				case change > 0 && change < 4:
					addAlike(rt, tx, now, change)
				case change == 4:
					some := rapid.SampledFrom(tx.Clusters()).Draw(rt, "changed").Runs[0]
					tx.SetRange(some.Procs, pool.AttrJobPrio, classad.Literal(classad.Int(int64(change))))
				}
				return nil
			}))
			var reading *Reading
			var all decision
			testenv.OK(rt, s.View(func(v *spool.View) error {
				var due Outlook
				reading = ReadingOf(v)
				x, ok := reading.Represent(v, "example.org", nil, 0)
				if budgets := classad.NewBudgets((cfg.Steps + 1) / 2); ok && x.Policies(now, budgets) {
					some := decide(x.View, reading.Lacks, budgets)
					if reading.Enough() && x.Expand(some.plan) {
						represented++
						stood += len(x.stands)
						budgets := classad.NewBudgets((cfg.Steps + 1) / 2)
						due = Policies(v, now, Look{Budgets: budgets})
						all = decide(v, nil, budgets)
						if len(due.Due)+len(due.Unknown)+len(due.Unneeded)+len(due.PutOff) > 0 {
							rt.Fatalf("nothing was due, and is: %+v", due)
						}
						if !reflect.DeepEqual(some.taken, all.taken) {
							rt.Fatalf("steps were %v, and are %v", some.taken, all.taken)
						}
						if a, b := wholePlan(rt, some.plan), wholePlan(rt, all.plan); a != b {
							rt.Fatalf("where jobs stand for others: %s\nwith all: %s", a, b)
						}
					}
				}
				reading = ReadingOf(v)
				err := reading.Look(v, func(v *spool.View) error {
					Policies(v, now, Look{})
					all = decide(v, reading.Lacks, classad.NewBudgets((cfg.Steps+1)/2))
					return nil
				})
				reading.Looked(all.plan.Looked)
				reading.Extract(v)
				return err
			}))
			testenv.OK(rt, s.Update(func(tx *spool.Tx) error {
				for _, m := range Match(tx, all.plan, all.seen, now, cfg.Params) {
					if c, there := tx.Claim(m.Job); there && rapid.Bool().Draw(rt, "begun") {
						c.State = pool.RunningClaim
						tx.PutClaim(c)
						tx.Set(m.Job, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Running))))
					}
				}
				reading.Keep(tx)
				KeepPutOff(tx, nil, all.plan.PutOff)
				return nil
			}))
		}
	})
	if represented == 0 || stood == 0 {
		t.Errorf("%d cycles looked at %d clusters for others: the law holds of nothing", represented, stood)
	}
	t.Logf("%d cycles looked at %d clusters for others", represented, stood)
}

// wholePlan is all that a plan says and does.
func wholePlan(t *rapid.T, plan *negotiator.Plan) string {
	var demand []string
	for _, s := range plan.Submitters {
		demand = append(demand, fmt.Sprint(s.Name, s.Demand, s.Priority, s.Usage))
	}
	return fmt.Sprintf("%s\n%v\n%v\n%v", asText(t, plan), demand, plan.Outside, plan.Looked)
}

func expression(t *rapid.T, text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	testenv.OK(t, err)
	return e
}

// TestPartitionableInPart holds that a cycle reads a part of the ads of partitionable slots, too, and of jobs that ask for resources of
// their own.
func TestPartitionableInPart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *spool.Spool {
		s, err := spool.Open(dir, spool.Options{Program: "test", UIDDomain: "example.org"})
		testenv.OK(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	ad := func(text string) *classad.Ad {
		a, err := classad.ParseAd(text)
		testenv.OK(t, err)
		return a
	}
	testenv.OK(t, open().Update(func(tx *spool.Tx) error {
		tx.Op("test")
		tx.PutSlot("slot1@a", ad(`[Machine = "a"; PartitionableSlot = true; Cpus = 8; Memory = 4096; GPUs = 2; Requirements = true; Text = "x"]`))
		tx.AddCluster(ad(`[Owner = "alice"; JobStatus = 1; RequestCpus = 1; RequestGpus = 1; Requirements = true; Text = "y"]`), []spool.NewRun{{Count: 3}})
		return nil
	}))
	reading := &Reading{}
	for round := range 3 { // whole ads, a part, and what that lacked besides
		testenv.OK(t, open().View(func(v *spool.View) error {
			seen := TakeSnapshot(reading.Of(v), "example.org", nil, policy.Beside{})
			plan := negotiation.Cycle(seen.Pool, negotiator.Config{Params: params, UseSlotWeights: true}, noon)
			if len(plan.Matches) != 2 || plan.Matches[0].Piece.Takes != "Cpus=1 GPUs=1" || !reading.Enough() && round != 1 || reading.always {
				t.Errorf("round %d: %d matches, %+v; to be read are %q, all: %v", round, len(plan.Matches), plan.Matches, reading.names, reading.always)
			}
			reading.Looked(plan.Looked)
			reading.read = append(usual[:len(usual):len(usual)], reading.names...)
			return nil
		}))
	}
}
