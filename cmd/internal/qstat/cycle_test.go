package qstat

import (
	"encoding/json"
	"fmt"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/report/queue"
)

// What the report has of a job's causes is shown with the reason, and with -json.
func TestCauses(t *testing.T) {
	fill(t)
	reported(t, fmt.Sprintf(`{"Cycle":4,"Time":%d,"Rejections":[{"Job":"3.0","Count":2,"Jobs":["3.0-1"],"Submitter":"alice@pool","Autocluster":0,
		"Cause":"Requirements","Also":["Busy"],"Ahead":2,"Reason":"no match found: small"}],
		"Autoclusters":[{"Steps":[{"Cause":"Requirements","Text":"TARGET.Memory >= 9","Slots":11},{"Cause":"Claimed","Slots":1}],
		"Nearest":{"Slot":"slot1@node","Causes":["Requirements","Busy"],"Fails":[{"Of":"job","Clause":"TARGET.Memory >= 9","Values":"Memory is 8"}]},
		"Holders":[{"Submitter":"bob@pool","Slots":1}],"Ahead":[{"Submitter":"bob@pool","EffectivePriority":0.5,"Slots":1}],"MoreAhead":1}],
		"Reservations":[{"Slot":"slot2@node","Job":"3.1","Submitter":"alice@pool","Since":1,"Weight":8,"Free":2,"Lacks":"Cpus 2 of 8"},
		{"Slot":"slot3@node","Job":"4.1","Submitter":"alice@pool","Since":1,"Weight":8,"Free":2}]}`, now))
	displays(t, "-j 3")
	_, out, _ := qstat("-j", "3", "-json")
	var all struct{ Jobs []queue.Waiting }
	err := json.Unmarshal([]byte(out), &all)
	got := all.Jobs
	if err != nil || len(got) != 1 || got[0].Analysis == nil || got[0].Rejection == nil {
		t.Fatalf("qstat -j 3 -json = %s, %v, want one with all", out, err)
	}
	if w := got[0]; w.State != "qw" || w.Reason != "no match found: small" || w.Help == "" || w.Analysis.Nearest.Slot != "slot1@node" || w.Jobs[0].String() != "3.0-1" || len(w.Reservations) != 1 {
		t.Errorf("qstat -j 3 -json = %+v, want what the report has", w)
	}
	cmdtest.Refuses(t, Command(), 2, "-j", "3", "-json", "-long")
	// Of an older version's there is the reason.
	reported(t, fmt.Sprintf(`{"Cycle":4,"Time":%d,"Rejections":[{"Job":"3.0","Count":2,"Jobs":["3.0-1"],"Reason":"no match found"}]}`, now))
	cmdtest.Printed(t, "qstat -j 3 (with an older version's report)", 0, info("3"), "")
}

// Why slots are not preempted is in the report for one submitter; others are told
// where to ask.
func TestPreemptionForOthers(t *testing.T) {
	fill(t)
	reported(t, fmt.Sprintf(`{"Cycle":4,"Time":%d,"Rejections":[
		{"Job":"3.0","Count":2,"Jobs":["3.0-1"],"Submitter":"alice@pool","Autocluster":0,"Cause":"Claimed","Reason":"no match found: alice"},
		{"Job":"2.0","Count":1,"Jobs":["2.0"],"Submitter":"bob@pool","Autocluster":0,"Cause":"Claimed","Reason":"no match found: bob"}],
		"Autoclusters":[{"Steps":[{"Cause":"Claimed","Slots":1}],"Preemption":[{"Why":"OwnJob","Slots":1}],"PreemptionFor":"alice@pool"}]}`, now))
	for _, job := range []string{"2", "3"} {
		cmdtest.Printed(t, "qstat -j "+job, 0, info(job), "")
	}
}
