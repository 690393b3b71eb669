package negotiation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

func TestReportJSON(t *testing.T) {
	plan := Cycle(negotiator.Pool{
		Slots: []pool.Slot{aSlot(t, "slot1@a", "")},
		Jobs:  []jobprio.Run{aJob(t, 12, 3, "alice@x", "")},
	}, defaults(t), now)
	for _, c := range []struct {
		plan *negotiator.Plan
		want string
	}{
		{plan, `{"Cycle":7,"Time":1700000000,"Slots":1,` +
			`"Submitters":[{"Name":"alice@x","EffectivePriority":0.5,"PieSlice":1,"Limit":1,"Idle":3,"Matched":1}],"Groups":[],` +
			`"Matches":[{"Job":"12.0","Submitter":"alice@x","Slot":"slot1@a","Reason":"NoPreemption"}],` +
			`"Rejections":[{"Job":"12.1","Count":2,"Jobs":["12.1-2"],"Submitter":"alice@x","Autocluster":0,"Cause":"Taken",` +
			`"Reason":"no match found: the only matching slot is taken (0 before this cycle)"}],` +
			`"Autoclusters":[{"Steps":[{"Cause":"Taken","Slots":1}],"Nearest":{"Slot":"slot1@a","Causes":["Taken"],"Holders":["alice@x"]},` +
			`"Holders":[{"Submitter":"alice@x","Slots":1,"New":1}],"Ahead":[{"Submitter":"alice@x","EffectivePriority":0.5,"Slots":1,"Waiting":2}]}]}`},
		{&negotiator.Plan{}, `{"Cycle":7,"Time":1700000000,"Slots":0,"Submitters":[],"Groups":[],"Matches":[],"Rejections":[],"Autoclusters":[]}`},
		{&negotiator.Plan{
			Matches: []negotiator.Match{{Job: pool.JobID{Cluster: 1}, Submitter: "alice@x", Slot: "slot1_1@a", Piece: pool.Piece{Of: "slot1@a", Takes: "Cpus=2 Memory=1024"}, Reason: negotiator.NoPreemption}},
			Reservations: []negotiator.Reserved{{Reservation: pool.Reservation{Slot: "slot2@a", Job: pool.JobID{Cluster: 2}, Submitter: "bob@x", Since: 1_600_000_000},
				Weight: 8 * accountant.One, Free: 3 * accountant.One, Lacks: "Cpus 3 of 8"}},
		}, `{"Cycle":7,"Time":1700000000,"Slots":0,"Submitters":[],"Groups":[],"Matches":[{"Job":"1.0","Submitter":"alice@x","Slot":"slot1_1@a",` +
			`"Reason":"NoPreemption","Of":"slot1@a","Resources":"Cpus=2 Memory=1024"}],"Rejections":[],"Autoclusters":[],` +
			`"Reservations":[{"Slot":"slot2@a","Job":"2.0","Submitter":"bob@x","Since":1600000000,"Weight":8,"Free":3,"Lacks":"Cpus 3 of 8"}]}`},
	} {
		got, err := json.Marshal(c.plan.Report(7, now))
		if err != nil || string(got) != c.want {
			t.Errorf("Report = %s, %v, want %s", got, err, c.want)
		}
	}
}

// The record of the spins is in the report of a cycle that has some, and reads back.
func TestReportSpins(t *testing.T) {
	plan := Cycle(negotiator.Pool{Slots: equal(t, 3, ""), Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", ""), aJob(t, 2, 9, "bob@x", "")}}, spins(t), now)
	text, err := json.Marshal(plan.Report(1, now))
	if err != nil {
		t.Fatal(err)
	}
	var back negotiator.Report
	if err := json.Unmarshal(text, &back); err != nil || len(plan.Spins) == 0 || !reflect.DeepEqual(back.Spins, plan.Spins) {
		t.Errorf("Report's Spins = %+v, %v, want %+v", back.Spins, err, plan.Spins)
	}
}

// Shares come out of floating-point arithmetic; programs and people read
// them without its last digits.
func TestReportRounds(t *testing.T) {
	plan := &negotiator.Plan{Submitters: []negotiator.Share{{Name: "alice@x", EffectivePriority: 0.1 + 0.2, PieSlice: 39.99999999999999, Limit: 41.0 / 3}}}
	got := plan.Report(1, now).Submitters[0]
	if want := (negotiator.Share{Name: "alice@x", EffectivePriority: 0.1 + 0.2, PieSlice: 40, Limit: 13.666667}); got != want {
		t.Errorf("Report = %+v, want %+v", got, want)
	}
	if plan.Submitters[0].PieSlice == 40 {
		t.Errorf("Report changed its plan")
	}
}

// Every job that is left is named exactly, however its shape is spread over
// clusters and runs.
func TestRejectedJobs(t *testing.T) {
	large := "RequestMemory = 9999"
	part := func(cluster, first, count int, text string) jobprio.Run {
		j := aJob(t, cluster, count, "alice@x", text)
		j.First, j.Last, j.Ad = first, first+count-1, procAd(j.Ad, first)
		return j
	}
	for _, c := range []struct {
		name string
		jobs []jobprio.Run
		want []string
	}{
		{"several clusters", []jobprio.Run{aJob(t, 3, 1, "alice@x", large), aJob(t, 1, 5, "alice@x", large), aJob(t, 2, 2, "alice@x", large+"; JobPrio = 3")},
			[]string{"2.0 8: [1.0-4 2.0-1 3.0]"}},
		{"two shapes in one cluster", []jobprio.Run{part(1, 0, 2, large), part(1, 2, 2, "Requirements = false"), part(1, 4, 2, large)},
			[]string{"1.0 4: [1.0-1 1.4-5]", "1.2 2: [1.2-3]"}},
		{"each proc a shape of its own", []jobprio.Run{aJob(t, 1, 4, "alice@x", "Requirements = ProcId < 1 && TARGET.Memory > 9999")},
			[]string{"1.0 1: [1.0]", "1.1 1: [1.1]", "1.2 1: [1.2]", "1.3 1: [1.3]"}},
		{"some were matched", []jobprio.Run{aJob(t, 1, 5, "alice@x", "")}, []string{"1.2 3: [1.2-4]"}},
	} {
		plan := Cycle(negotiator.Pool{Slots: equal(t, 2, ""), Jobs: c.jobs}, defaults(t), now)
		var got []string
		for _, r := range plan.Rejections {
			got = append(got, fmt.Sprintf("%v %d: %v", r.Job, r.Count, r.Jobs))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: rejections = %q, want %q", c.name, got, c.want)
		}
	}
}
