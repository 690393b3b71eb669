package negotiator

import (
	"encoding/json"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// TestGroupsReport is the pool of 13 slots of the recorded userprio displays.
func TestGroupsReport(t *testing.T) {
	cfg := defaults(t)
	tree, err := accountant.NewGroups([]accountant.Group{
		{Name: "group_a", Quota: 6}, {Name: "group_a.x", Quota: 3, Autoregroup: true}, {Name: "group_b", Quota: 0.25, Dynamic: true, AcceptSurplus: true}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Params.Groups = tree
	p := Pool{Slots: equal(t, 13, ""), Jobs: []Job{aJob(t, 1, 2, "group_b.grace@x", "RequestCpus = 1"), aJob(t, 2, 3, "GROUP_A.erin@x", "RequestCpus = 2")}}
	for i, name := range []string{"group_a.erin@x", "group_a.erin@x", "group_a.x.frank@x", "alice@x"} {
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Attempt: 1, Slot: p.Slots[i].Name, Submitter: name,
			Weight: accountant.One, State: pool.RunningClaim, MatchedAt: now})
	}
	got, err := json.Marshal(Cycle(p, cfg, now).Report(1, now).Groups)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"Name":"\u003cnone\u003e","ConfigQuota":0,"EffectiveQuota":13,"SubtreeQuota":13,"SurplusPolicy":"regroup","GroupSortKey":3.4e+38,"Usage":1,"Requested":1},` +
		`{"Name":"group_a","ConfigQuota":6,"EffectiveQuota":6,"SubtreeQuota":6,"SurplusPolicy":"no","GroupSortKey":0.3333333333333333,"Usage":2,"Requested":8},` +
		`{"Name":"group_b","ConfigQuota":0.25,"EffectiveQuota":1.75,"SubtreeQuota":1.75,"SurplusPolicy":"byquota","GroupSortKey":0,"Usage":0,"Requested":2},` +
		`{"Name":"group_a.x","ConfigQuota":3,"EffectiveQuota":3,"SubtreeQuota":3,"SurplusPolicy":"regroup","GroupSortKey":0.3333333333333333,"Usage":1,"Requested":1}]`
	if string(got) != want {
		t.Errorf("groups of the report\n%s, want\n%s", got, want)
	}
	if got := Cycle(p, defaults(t), now).Report(1, now).Groups; got == nil || len(got) != 0 {
		t.Errorf("groups of the report without groups = %v, want an empty list", got)
	}
}
