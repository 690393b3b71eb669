package lifecycle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// drawn sets some of the attributes of an ad to one of their expressions.
func drawn(t *rapid.T, what string, of map[string][]string, order ...string) *classad.Ad {
	ad := classad.New()
	for _, name := range order {
		text := rapid.SampledFrom(of[name]).Draw(t, what+" "+name)
		if text == "" {
			continue
		}
		e, err := classad.ParseExpr(text)
		testenv.OK(t, err)
		ad.Set(name, e)
	}
	return ad
}

// What ads of the law have. Some of it is found only by what another ad asks, by its name as a text, or
// in some cycles only; some tells procs and clusters apart that are alike otherwise.
var (
	ofSlots = map[string][]string{
		"Requirements":      {"true", "Start", `TARGET.Owner == "alice"`, "TARGET.Colour =?= MY.Colour", "WithinLimits"},
		"Start":             {"TARGET.Wants > Speed", "true", "KeyboardIdle > 5", ""},
		"WithinLimits":      {"TARGET.Heat < 3", "", "true"},
		"Rank":              {"", "TARGET.Weight", `ifThenElse(TARGET.Owner == "bob", 2, TARGET.JobPrio)`},
		"Speed":             {"1", "2", "MY.Cpus * 2"},
		"Colour":            {"", `"red"`, `"blue"`},
		"Cpus":              {"1", "2", "4"},
		"Memory":            {"1024", "2048"},
		"Bananas":           {"", "3"},
		"PartitionableSlot": {"", "true"},
	}
	ofJobs = map[string][]string{
		"Owner":             {`"alice"`, `"bob"`, `"carol"`},
		"AccountingGroup":   {"", "", `"physics.dave"`},
		"JobStatus":         {"1", "1", "1", "5"},
		"Requirements":      {"true", "TARGET.Speed > 1", "Limit < TARGET.Speed", `TARGET.Colour == "red"`, "ProcId == 0", "QDate < 1790000003", "ClusterId % 2 == 0", `eval("TARGET.Spe" + "ed") > 1`, "EnteredCurrentStatus > 3"},
		"Limit":             {"", "Other + 1", "1"},
		"Other":             {"", "0", "Deep"},
		"Deep":              {"", "2"},
		"Rank":              {"", "TARGET.Memory", "TARGET.Speed - Other"},
		"JobPrio":           {"", "3", "Urgency * 2"},
		"Urgency":           {"", "4"},
		"Wants":             {"", "2"},
		"Heat":              {"", "5"},
		"Colour":            {"", `"red"`},
		"PeriodicHold":      {"", "false", "Heat > 4", "time() - QDate > Patience"},
		"PeriodicRelease":   {"", "NumHolds < Tries"},
		"Patience":          {"", "1000000"},
		"RequestCpus":       {"", "1", "2", "Other + 1"},
		"RequestMemory":     {"", "500"},
		"RequestBananas":    {"", "1"},
		"ConcurrencyLimits": {"", `"lic"`},
		"Text":              {`"a"`, `"b"`, `"c"`},
	}
	slotNames = []string{"Requirements", "Start", "WithinLimits", "Rank", "Speed", "Colour", "Cpus", "Memory", "Bananas", "PartitionableSlot"}
	jobNames  = []string{"Owner", "AccountingGroup", "JobStatus", "Requirements", "Limit", "Other", "Deep", "Rank", "JobPrio", "Urgency", "Wants", "Heat", "Colour",
		"PeriodicHold", "PeriodicRelease", "Patience", "RequestCpus", "RequestMemory", "RequestBananas", "ConcurrencyLimits", "Text"}
)

// changePool makes a random change of slots and jobs.
func changePool(t *rapid.T, tx *spool.Tx, now time.Time) {
	tx.Op("test")
	for i := range rapid.IntRange(0, 3).Draw(t, "slots") {
		name := fmt.Sprintf("slot1@n%d", rapid.IntRange(0, 4).Draw(t, fmt.Sprint("slot ", i)))
		ad := drawn(t, "slot", ofSlots, slotNames...)
		ad.SetString("Name", name)
		ad.SetString("Machine", name[6:])
		tx.PutSlot(name, ad)
	}
	for range rapid.IntRange(0, 3).Draw(t, "kinds") {
		ad := drawn(t, "job", ofJobs, jobNames...)
		for n := range rapid.IntRange(1, 3).Draw(t, "alike") {
			one := ad.Clone()
			one.SetInt("QDate", now.Unix()+int64(n))
			one.SetInt("EnteredCurrentStatus", int64(n))
			own := classad.New()
			if rapid.Bool().Draw(t, "own status") {
				own.SetInt("JobStatus", 1)
			}
			tx.AddCluster(one, []spool.NewRun{{Count: rapid.IntRange(1, 3).Draw(t, "procs"), Ad: own}})
		}
	}
	for _, c := range tx.Clusters() {
		if rapid.IntRange(0, 4).Draw(t, "change") == 0 {
			id := pool.JobID{Cluster: c.ID, Proc: c.Runs[0].First}
			tx.Set(id, rapid.SampledFrom([]string{"JobPrio", "Other", "QDate", "Text"}).Draw(t, "attribute"), classad.Literal(classad.Int(int64(rapid.IntRange(0, 5).Draw(t, "value")))))
		}
	}
}

// decided is what a cycle finds on a view: what policies want, and the plan.
func decided(t rapid.TB, v *spool.View, now time.Time, lacks func() bool) (seen Snapshot, plan *negotiator.Plan, policies Outlook) {
	expr := func(text string) *classad.Expr {
		e, err := classad.ParseExpr(text)
		testenv.OK(t, err)
		return e
	}
	cfg := negotiator.Config{
		Params: params, UseSlotWeights: true, SlotWeight: expr("Cpus"), RequestClaimTimeout: time.Hour,
		Preemption: negotiator.Preemption{Consider: true, Requirements: expr("TARGET.Urgency > 1 && MY.RemoteUserPrio > 0"), Rank: expr("0 - MY.Speed")},
	}
	seen = TakeSnapshot(v, "example.org", nil, policy.Beside{})
	seen.Pool.Lacks = lacks
	return seen, negotiation.Cycle(seen.Pool, cfg, now), Policies(v, now, Look{})
}

// TestReadingLaw holds that cycles which remember what others looked up decide as one does that reads
// whole ads, while jobs and slots come, change and are folded.
func TestReadingLaw(t *testing.T) {
	t.Parallel()
	partly := 0
	rapid.Check(t, func(rt *rapid.T) {
		dir, now := t.TempDir(), time.Unix(1790000000, 0)
		open := func() *spool.Spool {
			s, err := spool.Open(dir, spool.Options{Program: "test", UIDDomain: "example.org"})
			testenv.OK(rt, err)
			return s
		}
		update := func(s *spool.Spool, fn func(tx *spool.Tx) error) {
			testenv.OK(rt, s.Update(fn))
		}
		s := open()
		defer func() { s.Close() }()
		for range rapid.IntRange(1, 5).Draw(rt, "cycles") {
			now = now.Add(time.Minute)
			update(s, func(tx *spool.Tx) error { changePool(rt, tx, now); return nil })
			if rapid.Bool().Draw(rt, "folded") {
				if _, err := s.Fold(1, nil); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "afresh") {
				s.Close()
				s = open()
			}
			var reading *Reading
			var seen Snapshot
			var plan *negotiator.Plan
			testenv.OK(rt, s.View(func(v *spool.View) error {
				reading = ReadingOf(v)
				var policies Outlook
				if err := reading.Look(v, func(v *spool.View) error {
					seen, plan, policies = decided(rt, v, now, reading.Lacks)
					return nil
				}); err != nil {
					return err
				}
				if reading.unread != nil {
					partly++
				}
				reading.Looked(plan.Looked)
				_, want, wanted := decided(rt, v, now, nil)
				if a, b := asText(rt, plan), asText(rt, want); a != b {
					rt.Fatalf("in part: %s\nwhole: %s", a, b)
				}
				if !reflect.DeepEqual(policies, wanted) {
					rt.Fatalf("policies in part: %+v\nwhole: %+v", policies, wanted)
				}
				reading.Extract(v)
				return nil
			}))
			update(s, func(tx *spool.Tx) error {
				plan.Matches = Match(tx, plan, seen, now, params)
				reading.Keep(tx)
				return nil
			})
		}
	})
	if partly == 0 {
		t.Error("no cycle was content with a part of the ads")
	}
}

// asText is all that a plan says.
func asText(t rapid.TB, plan *negotiator.Plan) string {
	b, err := json.Marshal(plan.Report(1, noon))
	testenv.OK(t, err)
	return fmt.Sprintf("%s\n%+v\n%+v", b, plan.Matches, plan.Succession)
}
