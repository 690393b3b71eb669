package negotiator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// groupsOf returns a configuration with accounting groups, whose quotas are kept as by
// default.
func groupsOf(t testing.TB, cfg Config, list ...accountant.Group) Config {
	t.Helper()
	tree, err := accountant.NewGroups(list)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Params.Groups = tree
	cfg.Quotas = Quotas{Oversubscribe: true, Strict: true, Rounds: 3, WeightedDemand: true}
	return cfg
}

// TestGroupsReport is the pool of 13 slots of the recorded userprio displays.
func TestGroupsReport(t *testing.T) {
	cfg := groupsOf(t, defaults(t), accountant.Group{Name: "group_a", Quota: 6}, accountant.Group{Name: "group_a.x", Quota: 3, Autoregroup: true},
		accountant.Group{Name: "group_b", Quota: 0.25, Dynamic: true, AcceptSurplus: true})
	p := Pool{Slots: equal(t, 13, ""), Jobs: []jobprio.Run{aJob(t, 1, 2, "group_b.grace@x", "RequestCpus = 1"), aJob(t, 2, 3, "GROUP_A.erin@x", "RequestCpus = 2")}}
	for i, name := range []string{"group_a.erin@x", "group_a.erin@x", "group_a.x.frank@x", "alice@x"} {
		p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Attempt: 1, Slot: p.Slots[i].Name, Submitter: name,
			Weight: accountant.One, State: pool.RunningClaim, MatchedAt: now})
	}
	// What group_a has of its own is what group_a.x does not have of its 6. No slot has
	// the 2 Cpus that its jobs want.
	want := []string{`{"Name":"<none>","ConfigQuota":0,"EffectiveQuota":13,"SubtreeQuota":13,"SurplusPolicy":"regroup","GroupSortKey":3.4e+38,"Usage":1,"Requested":1,"Allocated":13,"Used":1,"Surplus":0}`,
		`{"Name":"group_a","ConfigQuota":6,"EffectiveQuota":3,"SubtreeQuota":6,"SurplusPolicy":"no","GroupSortKey":0.6666666666666666,"Usage":2,"Requested":8,"Allocated":2,"Used":2,"Surplus":0}`,
		`{"Name":"group_b","ConfigQuota":0.25,"EffectiveQuota":1.75,"SubtreeQuota":1.75,"SurplusPolicy":"byquota","GroupSortKey":0,"Usage":0,"Requested":2,"Allocated":2,"Used":2,"Surplus":0.25}`,
		`{"Name":"group_a.x","ConfigQuota":3,"EffectiveQuota":3,"SubtreeQuota":3,"SurplusPolicy":"regroup","GroupSortKey":0.3333333333333333,"Usage":1,"Requested":1,"Allocated":1,"Used":1,"Surplus":0}`}
	for i, g := range Cycle(p, cfg, now).Report(1, now).Groups {
		text, err := json.Marshal(g)
		got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(text))
		if err != nil || got != want[i] {
			t.Errorf("group %d of the report\n%s, want\n%s", i, got, want[i])
		}
	}
	if got := Cycle(p, defaults(t), now).Report(1, now).Groups; got == nil || len(got) != 0 {
		t.Errorf("groups of the report without groups = %v, want an empty list", got)
	}
}

func TestGroupOrder(t *testing.T) {
	list := []accountant.Group{{Name: "a", Quota: 2, AcceptSurplus: true}, {Name: "b", Quota: 4, AcceptSurplus: true}, {Name: "c", AcceptSurplus: true}}
	regrouped := slices.Clone(list)
	regrouped[0].Autoregroup = true
	for _, c := range []struct {
		name, expr string
		groups     []accountant.Group
		want       string
	}{
		{"by the part of the quota in use", "", list, "b 0.25, a 0.5, c 3.3e+38, <none> 3.4e+38"},
		{"by name", `ifThenElse(AccountingGroup == "c", -1, GroupQuota)`, list, "c -1, <none> 0, a 2, b 4"},
		{"by what is in use and allocated", "GroupResourcesAllocated - GroupResourcesInUse", list, "<none> 0, c 0, a 1, b 3"},
		{"equal keys", "AccountingGroup =!= \"a\"", list, "a 0, <none> 1, b 1, c 1"},
		{"nobody's last where groups regroup", "GroupQuota", regrouped, "c 0, a 2, b 4, <none> 6"},
		{"no number", `ifThenElse(AccountingGroup == "b", "1", ifThenElse(AccountingGroup == "a", 1/0, 7))`, list, "<none> 7, c 7, a 3.40282e+38, b 3.40282e+38"},
	} {
		cfg := groupsOf(t, spins(t), c.groups...)
		if c.expr != "" {
			cfg.Quotas.SortExpr = expr(t, c.expr)
		}
		p := Pool{Slots: equal(t, 6, ""), Jobs: []jobprio.Run{aJob(t, 1, 1, "a.x@x", ""), aJob(t, 2, 3, "b.x@x", "")}}
		for i, name := range []string{"a.x@x", "b.x@x"} {
			p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Slot: p.Slots[i].Name, Submitter: name,
				State: pool.RunningClaim, Weight: accountant.One})
		}
		cy := &cycle{cfg: cfg, eval: &classad.Context{Now: now}}
		plan := Cycle(p, cfg, now)
		keys := make([]float64, len(plan.Groups))
		for i, g := range plan.Groups {
			keys[i] = g.GroupSortKey
		}
		var got []string
		for _, i := range cy.groupLine(keys) {
			got = append(got, fmt.Sprintf("%s %.6g", plan.Groups[i].Name, keys[i]))
		}
		if joined := strings.Join(got, ", "); joined != c.want {
			t.Errorf("%s: order of groups is %s, want %s", c.name, joined, c.want)
		}
		warned := slices.ContainsFunc(plan.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "GROUP_SORT_EXPR is no number for group a, nor for 1 group more:")
		})
		if warned != (c.name == "no number") {
			t.Errorf("%s: warnings are %q, want one of GROUP_SORT_EXPR if it is no number", c.name, plan.Warnings)
		}
	}
}

// Quotas that cannot all be had are warned of in every cycle.
func TestGroupsComplain(t *testing.T) {
	cfg := groupsOf(t, defaults(t), accountant.Group{Name: "a", Quota: 5}, accountant.Group{Name: "b", Quota: 2})
	for slots, want := range map[int]int{6: 1, 7: 0} {
		plan := Cycle(Pool{Slots: equal(t, slots, "")}, cfg, now)
		if len(plan.Warnings) != want || want > 0 && !strings.HasPrefix(plan.Warnings[0], "quotas of the groups sum to 7 of a pool of 6: ") {
			t.Errorf("warnings in a pool of %d are %q, want %d of the quotas", slots, plan.Warnings, want)
		}
	}
}
