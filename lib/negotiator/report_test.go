package negotiator

import (
	"encoding/json"
	"testing"

	"fairspool/lib/pool"
)

func TestReportJSON(t *testing.T) {
	plan := Cycle(Pool{
		Slots: []pool.Slot{aSlot(t, "slot1@a", "")},
		Jobs:  []Job{aJob(t, 12, 3, "alice@x", "")},
	}, defaults(t), now)
	for _, c := range []struct {
		plan *Plan
		want string
	}{
		{plan, `{"Cycle":7,"Time":1700000000,"Slots":1,` +
			`"Submitters":[{"Name":"alice@x","EffectivePriority":0.5,"PieSlice":1,"Limit":1,"Idle":3,"Matched":1}],"Groups":[],` +
			`"Matches":[{"Job":"12.0","Submitter":"alice@x","Slot":"slot1@a","Reason":"NoPreemption"}],` +
			`"Rejections":[{"Job":"12.1","Count":2,"Reason":"no match found: the only matching slot is taken (0 before this cycle)"}]}`},
		{&Plan{}, `{"Cycle":7,"Time":1700000000,"Slots":0,"Submitters":[],"Groups":[],"Matches":[],"Rejections":[]}`},
	} {
		got, err := json.Marshal(c.plan.Report(7, now))
		if err != nil || string(got) != c.want {
			t.Errorf("Report = %s, %v, want %s", got, err, c.want)
		}
	}
}
