package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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
	want := `scheduling info:            no match found: small
                              12 slots:
                                11  do not meet the job's TARGET.Memory >= 9
                                 1  matches, but was claimed before the cycle
                              the nearest is slot1@node:
                                the job's TARGET.Memory >= 9 is not true, as Memory is 8
                              slots that match are held by bob@pool (1)
                              in the order of negotiation: bob@pool (EUP 0.50, has 1), and another
                              what would help: all of: a slot like slot1@node for which the job's Requirements are true, or Requirements that ask for less; a state of slot1@node in which it takes jobs
                              2 with a better EUP have such slots or wait for them
                              slot2@node is kept for 3.1: it has Cpus 2 of 8 requested
`
	if _, out, _ := qstat("-j", "3"); !strings.HasSuffix(out, want) {
		t.Errorf("qstat -j 3:\n%swant at its end\n%s", out, want)
	}
	_, out, _ := qstat("-j", "3", "-json")
	var got []Waiting
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 1 || got[0].Analysis == nil || got[0].Rejection == nil {
		t.Fatalf("qstat -j 3 -json = %s, %v, want one with all", out, err)
	}
	if w := got[0]; w.State != "qw" || w.Reason != "no match found: small" || w.Help == "" || w.Analysis.Nearest.Slot != "slot1@node" || w.Jobs[0].String() != "3.0-1" || len(w.Reservations) != 1 {
		t.Errorf("qstat -j 3 -json = %+v, want what the report has", w)
	}
	if status, _, bad := qstat("-j", "3", "-json", "-long"); status == 0 || bad == "" {
		t.Errorf("qstat -j 3 -json -long = %d, %q, want a refusal", status, bad)
	}
	// Of an older version's there is the reason.
	reported(t, fmt.Sprintf(`{"Cycle":4,"Time":%d,"Rejections":[{"Job":"3.0","Count":2,"Jobs":["3.0-1"],"Reason":"no match found"}]}`, now))
	if _, out, _ := qstat("-j", "3"); !strings.HasSuffix(out, "scheduling info:            no match found\n") {
		t.Errorf("qstat -j 3 with an older report:\n%s", out)
	}
}

// Why slots are not preempted is in the report for one submitter; others are told
// where to ask.
func TestPreemptionForOthers(t *testing.T) {
	fill(t)
	reported(t, fmt.Sprintf(`{"Cycle":4,"Time":%d,"Rejections":[
		{"Job":"3.0","Count":2,"Jobs":["3.0-1"],"Submitter":"alice@pool","Autocluster":0,"Cause":"Claimed","Reason":"no match found: alice"},
		{"Job":"2.0","Count":1,"Jobs":["2.0"],"Submitter":"bob@pool","Autocluster":0,"Cause":"Claimed","Reason":"no match found: bob"}],
		"Autoclusters":[{"Steps":[{"Cause":"Claimed","Slots":1}],"Preemption":[{"Why":"OwnJob","Slots":1}],"PreemptionFor":"alice@pool"}]}`, now))
	const hint = "why none is preempted for bob@pool: negotiate -explain 2.0\n"
	if _, out, _ := qstat("-j", "2"); !strings.Contains(out, hint) {
		t.Errorf("qstat -j 2 lacks %q:\n%s", hint, out)
	}
	if _, out, _ := qstat("-j", "3"); strings.Contains(out, "negotiate -explain") {
		t.Errorf("qstat -j 3 says where to ask, want it told at once:\n%s", out)
	}
}
