package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// What is said where quotas leave no room.
func TestQuotaCauses(t *testing.T) {
	phys := accountant.Group{Name: "phys", Quota: 2}
	accepts := phys
	accepts.AcceptSurplus = true
	chem := accountant.Group{Name: "chem", Quota: 3}
	for _, c := range []struct {
		name   string
		slots  int
		groups []accountant.Group
		wants  []jobprio.Run
		of     string
		want   []negotiator.Cause
		full   string
		text   string
	}{
		{"one user", 5, []accountant.Group{phys, chem}, []jobprio.Run{aJob(t, 1, 4, "phys.alice@x", "")}, "phys.alice@x", []negotiator.Cause{negotiator.CauseQuota},
			"phys 2/2", "group quota reached: phys uses 2 of 2 (phys.alice@x 2); 3 matching slots are left"},
		{"used up by another", 5, []accountant.Group{phys, chem}, []jobprio.Run{aJob(t, 1, 2, "phys.alice@x", ""), aJob(t, 2, 2, "phys.bob@x", "RequestMemory = 1")}, "phys.bob@x",
			[]negotiator.Cause{negotiator.CauseQuota, negotiator.CauseOthers}, "phys 2/2", "group quota reached: phys uses 2 of 2 (phys.alice@x 1, phys.bob@x 1); 3 matching slots are left"},
		{"no quota", 5, []accountant.Group{{Name: "math"}, chem}, []jobprio.Run{aJob(t, 1, 1, "math.alice@x", "")}, "math.alice@x", []negotiator.Cause{negotiator.CauseQuota},
			"math 0/0", "group quota reached: math has no quota of its own; 5 matching slots are left"},
		{"no matter, as the end of another's job leaves surplus", 3, []accountant.Group{accepts, {Name: "chem", Quota: 1}}, []jobprio.Run{aJob(t, 1, 4, "phys.alice@x", ""), aJob(t, 2, 1, "chem.bob@x", "")}, "phys.alice@x",
			[]negotiator.Cause{negotiator.CauseTaken}, "", "no match found: all 3 matching slots are taken (0 before this cycle)"},
		{"an inner group that does not accept surplus", 9, []accountant.Group{{Name: "a", Quota: 3}, {Name: "a.x", Quota: 2, AcceptSurplus: true}}, []jobprio.Run{aJob(t, 1, 9, "a.x.alice@x", "")},
			"a.x.alice@x", []negotiator.Cause{negotiator.CauseQuota}, "a.x 3/3 a 3/3+", "group quota reached: a.x uses 3 of 3 (a.x.alice@x 3), and others leave none; 6 matching slots are left"},
	} {
		cfg := quotas(t, c.groups...)
		plan := Cycle(negotiator.Pool{Slots: equal(t, c.slots, ""), Jobs: c.wants}, cfg, now)
		i := slices.IndexFunc(plan.Rejections, func(r negotiator.Rejection) bool { return r.Submitter == c.of })
		if i < 0 {
			t.Errorf("%s: %s has no rejection, want %q", c.name, c.of, c.text)
			continue
		}
		r := plan.Rejections[i]
		var full []string
		for _, g := range r.Groups {
			text := fmt.Sprintf("%s %v/%v", g.Name, g.Used, g.Allowed)
			if g.Subtree {
				text += "+"
			}
			full = append(full, text)
		}
		if got := append([]negotiator.Cause{r.Cause}, r.Also...); !slices.Equal(got, c.want) || r.Reason != c.text || strings.Join(full, " ") != c.full {
			t.Errorf("%s: %v, %v: %q\nwant %v, %v: %q", c.name, got, full, r.Reason, c.want, c.full, c.text)
		}
		if help := r.Report().Help(plan.Autoclusters[r.Autocluster]); c.full != "" && !strings.Contains(help, "quota of "+c.groups[0].Name) {
			t.Errorf("%s: Help = %q, want a larger quota of %s", c.name, help, c.groups[0].Name)
		}
	}
}

// TestFullAndClaimed holds that a quota that is used up is named where the slots were claimed
// before the cycle, too.
func TestFullAndClaimed(t *testing.T) {
	cfg := quotas(t, accountant.Group{Name: "phys", Quota: 2}, accountant.Group{Name: "chem", Quota: 1})
	claims := append(runs(7, "phys.alice@x", 1, 2, time.Minute), runs(8, "chem.bob@x", 3, 3, time.Minute)...)
	plan := Cycle(negotiator.Pool{Slots: equal(t, 3, ""), Claims: claims, Jobs: []jobprio.Run{aJob(t, 1, 2, "phys.alice@x", "")}}, cfg, now)
	if len(plan.Rejections) != 1 {
		t.Fatalf("rejections %v, want one", plan.Rejections)
	}
	const want = "; its group quota is reached, too: phys uses 2 of 2"
	if got := plan.Rejections[0].Reason; !strings.HasSuffix(got, want) {
		t.Errorf("Reason = %q, want ...%q", got, want)
	}
}

// Jobs of the same group that could use another slot are named, too, where one quota is in the way of
// both: what they take then counts for the group's own, which is not raised.
func TestOthersBelowOneQuota(t *testing.T) {
	cfg := quotas(t, accountant.Group{Name: "a", Quota: 1}, accountant.Group{Name: "a.x", Quota: 3})
	cfg.Quotas.Strict, cfg.Quotas.Oversubscribe = true, true
	slots := append(equal(t, 2, ""), aSlot(t, "slot3", "PartitionableSlot = true; Cpus = 4; Memory = 4096; Requirements = TARGET.RequestCpus > 1"))
	plan := Cycle(negotiator.Pool{Slots: slots, Jobs: []jobprio.Run{aJob(t, 1, 1, "a.x.bob@x", "RequestCpus = 2; Requirements = TARGET.Cpus > 1"), aJob(t, 2, 2, "a.x.alice@x", "")}}, cfg, now)
	i := slices.IndexFunc(plan.Rejections, func(r negotiator.Rejection) bool { return r.Job == pool.JobID{Cluster: 2, Proc: 1} })
	if i < 0 {
		t.Fatalf("rejections = %q, want 2.1 among them", reasons(plan))
	}
	if r := plan.Rejections[i]; r.Cause != negotiator.CauseQuota || !slices.Equal(r.Also, []negotiator.Cause{negotiator.CauseOthers}) {
		t.Errorf("2.1: causes %s %v, want the quota and others: %q", r.Cause, r.Also, reasons(plan))
	}
}

// aTree draws quotas that are strictly enforced, or not.
func aTree(t *rapid.T, outer testing.TB) negotiator.Config {
	var list []accountant.Group
	for _, name := range []string{"a", "a.x", "a.y", "b"} {
		g := accountant.Group{Name: name, AcceptSurplus: rapid.Bool().Draw(t, "accepts"), Autoregroup: rapid.IntRange(0, 5).Draw(t, "regroups") == 0}
		if g.Dynamic = rapid.Bool().Draw(t, "dynamic"); g.Dynamic {
			g.Quota = rapid.SampledFrom([]float64{0, .25, .5, 1}).Draw(t, "fraction")
		} else {
			g.Quota = rapid.SampledFrom([]float64{0, 1, 2, 3, 2.5}).Draw(t, "quota")
		}
		list = append(list, g)
	}
	cfg := quotas(outer, list...)
	cfg.Quotas.Strict = rapid.IntRange(0, 3).Draw(t, "strict") > 0
	cfg.Quotas.Oversubscribe = rapid.Bool().Draw(t, "oversubscribe")
	return cfg
}

// grouped draws a pool in which submitters belong to groups.
func grouped(t *rapid.T, outer testing.TB) world {
	names := []string{"a.x.alice@x", "a.x.bob@x", "a.y.carol@x", "a.dan@x", "b.eve@x", "zoe@x"}
	w := world{cfg: aTree(t, outer)}
	slotKinds := []string{"", "", "Memory = 2048", "PartitionableSlot = true; Cpus = 4; Memory = 4096; Requirements = true", `State = "Owner"`}
	for i := range rapid.IntRange(1, 8).Draw(t, "slots") {
		w.Slots = append(w.Slots, aSlot(outer, fmt.Sprintf("slot%d@a", i+1), rapid.SampledFrom(slotKinds).Draw(t, "slot")))
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "runs") {
		w.Jobs = append(w.Jobs, jobprio.Singly([]jobprio.Run{aJob(outer, i+1, rapid.IntRange(1, 4).Draw(t, "count"), rapid.SampledFrom(names).Draw(t, "submitter"),
			rapid.SampledFrom([]string{"", "", "RequestMemory = 2000", "RequestCpus = 2; Requirements = true", "JobPrio = 5"}).Draw(t, "job"))})...)
	}
	for _, n := range names {
		w.Submitters = append(w.Submitters, record(n, rapid.SampledFrom([]float64{0.5, 2, 5}).Draw(t, "rup")))
	}
	return w
}

// raise lets the groups, and those above them, use so much more, and what others leave.
func (w *world) raise(t *rapid.T, names []negotiator.FullGroup, more float64) {
	tree := w.cfg.Params.Groups
	raised := map[int]bool{}
	for _, g := range names {
		at, ok := tree.Find(g.Name)
		if !ok {
			t.Fatalf("no group %s", g.Name)
		}
		for _, a := range tree.Up(at) {
			raised[a] = true
		}
	}
	var list []accountant.Group
	for i, g := range tree.List[1:] {
		g.Children = nil
		if raised[i+1] {
			g.AcceptSurplus = true
			if !g.Dynamic {
				g.Quota += more
			}
		}
		list = append(list, g)
	}
	groups, err := accountant.NewGroups(list)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg.Params.Groups = groups
}

// Where quotas are in the way, the causes are true: with the quotas of the groups named
// raised and everything else that is named out of the way, the job runs.
func TestQuotaCausesAreTrue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := grouped(rt, t)
		if rapid.Bool().Draw(rt, "one queue") {
			w.cfg.Queue = exempting{drawnQueue: drawQueue(rt)}
		}
		plan := w.cycle(t)
		if rapid.Bool().Draw(rt, "second") {
			w = w.later(rt, t, plan)
			plan = w.cycle(t)
		}
		later := w.after(plan)
		for _, r := range plan.Rejections {
			if full := slices.Contains(append([]negotiator.Cause{r.Cause}, r.Also...), negotiator.CauseQuota); full != (len(r.Groups) > 0) {
				rt.Fatalf("%v: causes %v %v and groups %v, want groups with %s and only with it", r.Job, r.Cause, r.Also, r.Groups, negotiator.CauseQuota)
			}
			x := later
			a := plan.Autoclusters[r.Autocluster]
			for _, cause := range append([]negotiator.Cause{r.Cause}, r.Also...) {
				switch {
				case cause == negotiator.CauseQuota:
					x.raise(rt, r.Groups, 8)
				case cause == negotiator.CauseOthers && a.MoreAhead > 0 && w.cfg.Queue == nil: // not all are named
					x.keepJobs(func(j jobprio.Run) bool { return j.Submitter == r.Submitter })
				default:
					x.remove(rt, cause, plan, r, a)
				}
			}
			next := x.cycle(t)
			if !slices.ContainsFunc(next.Matches, func(m negotiator.Match) bool { return m.Job == r.Job }) {
				rt.Fatalf("%v of %s: %s\ncauses %s %v, groups %+v, nearest %+v\nwithout them it does not run; matched first: %s; then: %s",
					r.Job, r.Submitter, r.Reason, r.Cause, r.Also, r.Groups, *a.Nearest, pairs(plan), pairs(next))
			}
		}
	})
}
