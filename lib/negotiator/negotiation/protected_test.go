package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// What keeps claimed slots from a job, one thing after the other.
func TestProtections(t *testing.T) {
	records := []accountant.Record{record("alice@x", 10), record("bob@x", 20), record("carol@x", 5)}
	old, young := 2*time.Hour, time.Minute
	matched := runs(7, "bob@x", 1, 2, old)
	for i := range matched {
		matched[i].State, matched[i].MatchedAt = pool.Matched, now
	}
	promise := []pool.Claim{{Job: pool.JobID{Cluster: 7}, Attempt: 1, Slot: "slot1", Submitter: "alice@x", State: pool.Promised, MatchedAt: now.Add(-old)}}
	capped := slices.Clone(records)
	capped[0].Ceiling = accountant.Limit{Slots: 0, Set: true}
	large := []pool.Slot{aSlot(t, "slot1", "PartitionableSlot = true; Cpus = 4; Memory = 4096; Requirements = true")}
	pieces := []pool.Claim{}
	for i, cpus := range []int{1, 3} {
		pieces = append(pieces, pool.Claim{Job: pool.JobID{Cluster: 7, Proc: i}, Attempt: 1, Slot: fmt.Sprintf("slot1_%d", i+1),
			Piece:     pool.Piece{Of: "slot1", Takes: pool.Resources(fmt.Sprintf("Cpus=%d Memory=128", cpus))},
			Submitter: "bob@x", State: pool.RunningClaim, Weight: accountant.Weight(cpus) * accountant.One, MatchedAt: now.Add(-young), StartedAt: now.Add(-young)})
	}
	for _, c := range []struct {
		name    string
		slots   []pool.Slot
		claims  []pool.Claim
		job     string
		records []accountant.Record
		change  func(*negotiator.Config)
		want    string
		clause  string
	}{
		{"too young", equal(t, 2, ""), runs(7, "bob@x", 1, 2, young), "", records, nil, "PreemptionRequirements:2", "; none can be preempted: PREEMPTION_REQUIREMENTS is not true"},
		{"not considered", equal(t, 2, ""), runs(7, "bob@x", 1, 2, old), "", records, func(c *negotiator.Config) { c.Preemption.Consider = false }, "Unconsidered:2", ""},
		{"no requirements", equal(t, 2, ""), runs(7, "bob@x", 1, 2, old), "", records, func(c *negotiator.Config) { c.Preemption.Requirements = nil }, "PreemptionRequirements:2",
			"; none can be preempted: PREEMPTION_REQUIREMENTS is not true"},
		{"a better priority, and its own", equal(t, 3, ""), append(runs(7, "carol@x", 1, 2, old), runs(8, "alice@x", 3, 3, old)...), "", records, nil, "OwnJob:1 BetterPriority:2",
			"; not preempted: 2 as their holders' EUPs are not worse, 1 as it runs a job of the same submitter"},
		{"not running yet", equal(t, 2, ""), matched, "", records, nil, "NotRunning:2", "; none can be preempted: their jobs have not started or are already leaving"},
		{"retiring", equal(t, 1, "RetirementTimeRemaining = 60"), runs(7, "bob@x", 1, 1, old), "", records, nil, "Retiring:1", "; it cannot be preempted: its job has time to retire"},
		{"left alone", equal(t, 1, `State = "Claimed"; Activity = "Busy"; RemoteUser = "bob@x"`), promise, "", records,
			func(c *negotiator.Config) { c.RequestClaimTimeout, c.VacateTimeout = time.Hour, time.Minute }, "LeftAlone:1", "; it cannot be preempted: it is left alone after matches that no starter took up"},
		{"ranked below", equal(t, 1, "Rank = ifThenElse(TARGET.ClusterId == 1, -1, 0)"), runs(7, "bob@x", 1, 1, old), "", records, nil, "SlotRank:1",
			"; it cannot be preempted: its Rank prefers the present job"},
		{"the last that it has a share in", equal(t, 1, ""), runs(7, "bob@x", 1, 1, old), "", records, nil, "OwnShare:1", "; it cannot be preempted: the submitter would have more than its share"},
		{"some have gone", equal(t, 6, ""), runs(7, "bob@x", 1, 6, old), "", records, nil, "AlreadyPreempted:4 HolderShare:2",
			"; not preempted: 4 as they go to other jobs already, 2 as their holders would have less than their shares"},
		{"a ceiling", equal(t, 1, "Rank = TARGET.ClusterId - 1 + 1"), runs(7, "bob@x", 1, 1, old), "", capped, nil, "OwnCeiling:1",
			"; it cannot be preempted: the submitter would come above its ceiling"},
		{"pieces that are large enough", large, pieces, "RequestCpus = 2; Requirements = true", records, nil, "PreemptionRequirements:1",
			"; it cannot be preempted: PREEMPTION_REQUIREMENTS is not true"},
	} {
		cfg := preempting(t)
		if c.change != nil {
			c.change(&cfg)
		}
		plan := Cycle(negotiator.Pool{Slots: c.slots, Claims: c.claims, Jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", c.job)}, Submitters: c.records}, cfg, now)
		if len(plan.Rejections) != 1 {
			t.Errorf("%s: %d rejections, want 1", c.name, len(plan.Rejections))
			continue
		}
		r := plan.Rejections[0]
		var got []string
		for _, p := range plan.Autoclusters[r.Autocluster].Preemption {
			got = append(got, fmt.Sprintf("%s:%d", p.Why, p.Slots))
		}
		if strings.Join(got, " ") != c.want || !strings.HasSuffix(r.Reason, c.clause) || c.clause == "" && strings.Contains(r.Reason, "preempt") {
			t.Errorf("%s: protections = %v, reason %q, want %s and the clause %q", c.name, got, r.Reason, c.want, c.clause)
		}
		if whose := plan.Autoclusters[r.Autocluster].PreemptionFor; whose != "alice@x" {
			t.Errorf("%s: protections from the jobs of %q, want alice@x", c.name, whose)
		}
	}
}

// Whoever is asked about is told what keeps slots from its own jobs, not from those of others that
// are like them.
func TestProtectionsOfWhomIsAskedAbout(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 2, ""), Claims: runs(7, "bob@x", 1, 2, time.Minute), Submitters: []accountant.Record{record("alice@x", 10), record("bob@x", 20)},
		Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", ""), aJob(t, 2, 2, "bob@x", "")}}
	for _, c := range []struct {
		explain []pool.Procs
		want    string
	}{{nil, "alice@x [{PreemptionRequirements 2}]"}, {[]pool.Procs{{Cluster: 2, First: 1, Last: 1}}, "bob@x [{OwnJob 2}]"}, {[]pool.Procs{{Cluster: 1, First: 0, Last: 9}}, "alice@x [{PreemptionRequirements 2}]"}} {
		cfg := preempting(t)
		cfg.Explain = c.explain
		plan := Cycle(p, cfg, now)
		if len(plan.Autoclusters) != 1 {
			t.Fatalf("%d autoclusters, want 1", len(plan.Autoclusters))
		}
		a := plan.Autoclusters[0]
		if got := fmt.Sprint(a.PreemptionFor, " ", a.Preemption); got != c.want {
			t.Errorf("Explain %v: protections %s, want %s", c.explain, got, c.want)
		}
	}
}

// Every protection has words of its own, for one slot and for several.
func TestProtectionTexts(t *testing.T) {
	said := map[string]negotiator.Protection{}
	for _, why := range negotiator.Protections() {
		for n := 1; n < 3; n++ {
			text := negotiator.Protected{Why: why, Slots: n}.Text()
			if before, twice := said[text]; text == string(why) || twice && before != why {
				t.Errorf("text of %d %s = %q, want words of its own", n, why, text)
			}
			said[text] = why
		}
	}
}

// Groups are reported as the cycle went by them.
func TestGroupsSettled(t *testing.T) {
	cfg := quotas(t, accountant.Group{Name: "a", Quota: 4}, accountant.Group{Name: "a.x", Quota: 1, AcceptSurplus: true}, accountant.Group{Name: "b", Quota: 3})
	p := negotiator.Pool{Slots: equal(t, 10, ""), Jobs: []jobprio.Run{aJob(t, 1, 9, "a.x.alice@x", ""), aJob(t, 2, 2, "b.bob@x", "")}}
	for _, c := range []struct {
		change func(*negotiator.Config)
		want   string // name own/subtree, allocated, used and surplus
	}{
		{nil, "<none> 3/10 0 0 0, a 3/4 0 0 0, b 3/3 2 2 0, a.x 1/1 4 4 3"},
		{func(c *negotiator.Config) {
			c.Params.Groups, _ = accountant.NewGroups([]accountant.Group{{Name: "a"}, {Name: "a.x"}, {Name: "b"}})
		}, "<none> 10/10 0 0 0, a 0/0 0 0 0, b 0/0 0 2 0, a.x 0/0 0 8 0"},
	} {
		if c.change != nil {
			c.change(&cfg)
		}
		var got []string
		for _, g := range Cycle(p, cfg, now).Groups {
			got = append(got, fmt.Sprintf("%s %v/%v %v %v %v", g.Name, g.EffectiveQuota, g.SubtreeQuota, g.Allocated, g.Used, g.Surplus))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("groups = %s\nwant %s", strings.Join(got, ", "), c.want)
		}
	}
}
