package negotiation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// groupsOf returns a configuration with accounting groups, whose quotas are kept as by
// default.
func groupsOf(t testing.TB, cfg negotiator.Config, list ...accountant.Group) negotiator.Config {
	t.Helper()
	tree, err := accountant.NewGroups(list)
	testenv.OK(t, err)
	cfg.Params.Groups = tree
	cfg.Quotas = negotiator.Quotas{Oversubscribe: true, Strict: true, Rounds: 3, WeightedDemand: true}
	return cfg
}

// TestGroupsReport is the pool of 13 slots of the recorded userprio displays.
func TestGroupsReport(t *testing.T) {
	cfg := groupsOf(t, defaults(t), accountant.Group{Name: "group_a", Quota: 6}, accountant.Group{Name: "group_a.x", Quota: 3, Autoregroup: true},
		accountant.Group{Name: "group_b", Quota: 0.25, Dynamic: true, AcceptSurplus: true})
	p := negotiator.Pool{Slots: equal(t, 13, ""), Jobs: []jobprio.Run{aJob(t, 1, 2, "group_b.grace@x", "RequestCpus = 1"), aJob(t, 2, 3, "GROUP_A.erin@x", "RequestCpus = 2")}}
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
		p := negotiator.Pool{Slots: equal(t, 6, ""), Jobs: []jobprio.Run{aJob(t, 1, 1, "a.x@x", ""), aJob(t, 2, 3, "b.x@x", "")}}
		for i, name := range []string{"a.x@x", "b.x@x"} {
			p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Slot: p.Slots[i].Name, Submitter: name,
				State: pool.RunningClaim, Weight: accountant.One})
		}
		plan := Cycle(p, cfg, now)
		keys := make([]float64, len(plan.Groups))
		for i, g := range plan.Groups {
			keys[i] = g.GroupSortKey
		}
		var got []string
		line := make([]int, len(keys))
		for i := range line {
			line[i] = i
		}
		slices.SortStableFunc(line, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
		for _, i := range line {
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
		plan := Cycle(negotiator.Pool{Slots: equal(t, slots, "")}, cfg, now)
		if len(plan.Warnings) != want || want > 0 && !strings.HasPrefix(plan.Warnings[0], "quotas of the groups sum to 7 of a pool of 6: ") {
			t.Errorf("warnings in a pool of %d are %q, want %d of the quotas", slots, plan.Warnings, want)
		}
	}
}

// quotas are the defaults with accounting groups.
func quotas(t testing.TB, list ...accountant.Group) negotiator.Config {
	t.Helper()
	cfg := defaults(t)
	tree, err := accountant.NewGroups(list)
	testenv.OK(t, err)
	cfg.Params.Groups = tree
	cfg.Quotas = negotiator.Quotas{Oversubscribe: true, Strict: true, Rounds: 3, RoundRobinRate: 1e100, WeightedDemand: true}
	return cfg
}

// inGroups counts the matches of each group, as name:count, by name.
func inGroups(plan *negotiator.Plan, cfg negotiator.Config) string {
	n := map[string]int{}
	for _, m := range plan.Matches {
		n[cfg.Params.Groups.NameOf(m.Submitter)]++
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		all = append(all, fmt.Sprintf("%s:%d", name, n[name]))
	}
	return strings.Join(all, " ")
}

// What quotas are not parts of is shared all the same.
func TestQuotasOfASmallerPool(t *testing.T) {
	cfg := quotas(t, accountant.Group{Name: "b", Quota: 0.5})
	cfg.PoolSizeConstraint = expr(t, "Counts")
	p := negotiator.Pool{Slots: equal(t, 3, ""), Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", ""), aJob(t, 2, 2, "b.bob@x", "")}}
	if got, want := inGroups(Cycle(p, cfg, now), cfg), "<none>:2"; got != want {
		t.Errorf("matches %s, want %s", got, want)
	}
}

func TestQuotas(t *testing.T) {
	static := func(name string, quota float64) accountant.Group { return accountant.Group{Name: name, Quota: quota} }
	dynamic := func(name string, quota float64, surplus bool) accountant.Group {
		return accountant.Group{Name: name, Quota: quota, Dynamic: true, AcceptSurplus: surplus}
	}
	chem := accountant.Group{Name: "chem", Quota: 10}
	accepts, regroups := chem, chem
	accepts.AcceptSurplus, regroups.Autoregroup = true, true
	tree := []accountant.Group{dynamic("chem", .3, true), dynamic("phys", .6, false), dynamic("phys.hep", .75, true), dynamic("phys.lep", .25, true)}
	for _, c := range []struct {
		name   string
		slots  int
		groups []accountant.Group
		wants  string // group:jobs, <none> for nobody's
		want   string
	}{
		{"what a group leaves goes to nobody's", 30, []accountant.Group{static("phys", 20), chem}, "phys:15 chem:25 <none>:8", "<none>:5 chem:10 phys:15"},
		{"or to one that accepts surplus", 30, []accountant.Group{static("phys", 20), accepts}, "phys:15 chem:25 <none>:8", "chem:15 phys:15"},
		{"a tree of dynamic quotas", 60, tree, "chem:40 phys.hep:40 phys.lep:3 <none>:10", "<none>:6 chem:18 phys.hep:33 phys.lep:3"},
		{"the manual's example, busy", 30, []accountant.Group{static("phys", 20), regroups}, "phys:40 chem:40", "chem:10 phys:20"},
		{"the manual's example, with slots left", 30, []accountant.Group{static("phys", 20), regroups}, "phys:15 chem:40", "chem:15 phys:15"},
		{"never above the quota", 30, []accountant.Group{static("phys", 20), regroups}, "phys:40 chem:3", "chem:3 phys:20"},
		{"regrouped among the others", 12, []accountant.Group{static("phys", 6), {Name: "chem", Quota: 4, Autoregroup: true}}, "phys:3 chem:20 <none>:3", "<none>:3 chem:6 phys:3"},
		{"fractions of slots are nobody's by themselves", 10, []accountant.Group{dynamic("a", .25, false), dynamic("b", .75, false)}, "a:9 b:9", "a:2 b:7"},
		{"of surplus, whoever is further below", 10, []accountant.Group{dynamic("a", .25, true), dynamic("b", .75, true)}, "a:9 b:9", "a:3 b:7"},
		{"whole slots of what quotas cut to fractions", 10, []accountant.Group{static("a", 2.5), static("c", 2.5), {Name: "b", Quota: 5, AcceptSurplus: true}}, "a:20 b:20 c:20", "a:2 b:6 c:2"},
		{"a subgroup that accepts, below one that does not", 20, []accountant.Group{static("a", 8), {Name: "a.x", Quota: 3, AcceptSurplus: true}, static("b", 2)}, "a.x:20 b:20", "a.x:8 b:2"},
		{"an inner group has what its children leave", 20, []accountant.Group{static("a", 8), static("a.x", 3)}, "a:20 a.x:20", "a:5 a.x:3"},
		{"no quotas at all", 10, []accountant.Group{{Name: "a"}, {Name: "b"}}, "a:20 b:20", "a:5 b:5"},
	} {
		cfg := quotas(t, c.groups...)
		p := negotiator.Pool{Slots: equal(t, c.slots, "")}
		for i, one := range strings.Fields(c.wants) {
			name, count, _ := strings.Cut(one, ":")
			n := 0
			fmt.Sscan(count, &n)
			who := name + ".alice@x"
			if name == "<none>" {
				who = "zoe@x"
			}
			p.Jobs = append(p.Jobs, aJob(t, i+1, n, who, ""))
		}
		if got := inGroups(Cycle(p, cfg, now), cfg); got != c.want {
			t.Errorf("%s: matches %s, want %s", c.name, got, c.want)
		}
	}
}

// A group's members may have what those below it leave of their quotas, which with
// oversubscription may be more than its own quota with all below it: strict enforcement alone
// keeps to that.
func TestOversubscribedQuotas(t *testing.T) {
	for _, c := range []struct {
		strict bool
		wants  int
		want   string
	}{
		{false, 0, "a:10"},
		{false, 3, "a:7 a.x.p:3"},
		{true, 0, "a:6"},
	} {
		cfg := quotas(t, accountant.Group{Name: "a", Quota: 6}, accountant.Group{Name: "a.x", Quota: 4}, accountant.Group{Name: "a.x.p", Quota: 8})
		cfg.Quotas.Strict = c.strict
		p := negotiator.Pool{Slots: equal(t, 20, ""), Jobs: []jobprio.Run{aJob(t, 1, 20, "a.alice@x", "")}}
		if c.wants > 0 {
			p.Jobs = append(p.Jobs, aJob(t, 2, c.wants, "a.x.p.bob@x", ""))
		}
		if got := inGroups(Cycle(p, cfg, now), cfg); got != c.want {
			t.Errorf("strict %v, %d jobs in a.x.p: matches %s, want %s", c.strict, c.wants, got, c.want)
		}
	}
}

// TestGroupOrderInReport holds that the report has submitters in the order in which they are
// served: a better EUP does not come before a group that is further below its quota.
func TestGroupOrderInReport(t *testing.T) {
	cfg := quotas(t, accountant.Group{Name: "phys", Quota: 2}, accountant.Group{Name: "chem", Quota: 2})
	pool := negotiator.Pool{Slots: equal(t, 6, ""), Claims: runs(7, "phys.alice@x", 1, 1, time.Minute), Submitters: []accountant.Record{record("chem.bob@x", 5), record("chem.dan@x", 3)},
		Jobs: []jobprio.Run{aJob(t, 1, 9, "phys.alice@x", ""), aJob(t, 2, 1, "chem.bob@x", ""), aJob(t, 3, 1, "chem.dan@x", ""), aJob(t, 4, 1, "zoe@x", ""), aJob(t, 5, 1, "nice-user.eve@x", "")}}
	var got []string
	for _, s := range Cycle(pool, cfg, now).Submitters {
		got = append(got, s.Name)
	}
	const want = "chem.dan@x chem.bob@x phys.alice@x zoe@x nice-user.eve@x"
	if strings.Join(got, " ") != want {
		t.Errorf("submitters %s, want %s", strings.Join(got, " "), want)
	}
}

// TestSlotsOfOtherPools holds that slots of other pools that have claims change neither shares nor quotas.
func TestSlotsOfOtherPools(t *testing.T) {
	for _, pie := range []negotiator.Pie{negotiator.MaxMin, negotiator.Spins} {
		for _, weights := range []bool{true, false} {
			cfg := groupsOf(t, defaults(t), accountant.Group{Name: "phys", Quota: 0.5, Dynamic: true})
			cfg.Pie, cfg.UseSlotWeights = pie, weights
			run := func(flocked int) *negotiator.Plan {
				p := negotiator.Pool{Slots: equal(t, 12+flocked, ""), Submitters: []accountant.Record{bounded("alice@x", 1, 5, 0)}, Jobs: []jobprio.Run{
					aJob(t, 1, 20, "alice@x", ""), aJob(t, 2, 20, "bob@x", ""), aJob(t, 3, 20, "phys.carol@x", "")}}
				for i := range flocked {
					p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Attempt: 1, Slot: p.Slots[12+i].Name, Flocked: "b",
						Submitter: []string{"alice@x", "phys.carol@x"}[i%2], Weight: accountant.One, State: pool.RunningClaim, MatchedAt: now, StartedAt: now})
				}
				return Cycle(p, cfg, now)
			}
			got, want := run(30), run(0)
			if !slices.Equal(got.Submitters, want.Submitters) || !slices.Equal(got.Groups, want.Groups) || pairs(got) != pairs(want) {
				t.Errorf("%v, weights %v: with slots of another pool\n%+v\n%+v\n%s, without\n%+v\n%+v\n%s", pie, weights,
					got.Submitters, got.Groups, pairs(got), want.Submitters, want.Groups, pairs(want))
			}
		}
	}
}
