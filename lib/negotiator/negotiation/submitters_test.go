package negotiation

import (
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// Slots may look at who wants them.
func TestSlotsAskAboutSubmitters(t *testing.T) {
	users := []accountant.Record{record("alice@x", 5), record("bob@x", 10)}
	busy := pool.Claim{Job: pool.JobID{Cluster: 9}, Attempt: 1, Slot: "slot9", Submitter: "alice@x", State: pool.RunningClaim, Weight: 2 * accountant.One, MatchedAt: now}
	groups := defaults(t)
	tree, err := accountant.NewGroups([]accountant.Group{{Name: "group_physics"}})
	if err != nil {
		t.Fatal(err)
	}
	groups.Params.Groups = tree
	regrouping := groupsOf(t, defaults(t), accountant.Group{Name: "group_physics", Quota: 1, Autoregroup: true})
	for _, c := range []struct {
		name, start string
		cfg         negotiator.Config
		alice       string
		want        string
	}{
		{"EUP", "TARGET.SubmitterUserPrio > 5", defaults(t), "alice@x", "2.0>slot1"},
		{"EUP, as it was called", "SubmittorPrio < 7", defaults(t), "alice@x", "1.0>slot1"},
		{"usage", "TARGET.SubmitterUserResourcesInUse == 0", defaults(t), "alice@x", "2.0>slot1"},
		{"negotiating group", `TARGET.SubmitterNegotiatingGroup == "<none>"`, defaults(t), "alice@x", "2.0>slot1"},
		{"no groups", `isUndefined(TARGET.SubmitterGroup)`, defaults(t), "alice@x", "2.0>slot1"},
		{"group", `TARGET.SubmitterGroup == "group_physics"`, groups, "group_physics.alice@x", "1.0>slot1"},
		{"negotiating with a group", `TARGET.SubmitterNegotiatingGroup == "group_physics"`, groups, "group_physics.alice@x", "1.0>slot1"},
		{"where groups regroup", `TARGET.SubmitterAutoregroup`, regrouping, "group_physics.alice@x", "2.0>slot1"},
		{"regrouped", `TARGET.SubmitterAutoregroup`, defaults(t), "alice@x", ""},
	} {
		p := negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1", "Requirements = "+c.start)}, Submitters: users, Claims: []pool.Claim{busy},
			Jobs: []jobprio.Run{aJob(t, 1, 1, c.alice, ""), aJob(t, 2, 1, "bob@x", "")}}
		if got := pairs(Cycle(p, c.cfg, now)); got != c.want {
			t.Errorf("%s: Cycle matches %q, want %q", c.name, got, c.want)
		}
	}
}

// Who regroups negotiates as a member of its group, and then as one of nobody's.
func TestSpinsTellOfRegrouping(t *testing.T) {
	own := groupsOf(t, spins(t), accountant.Group{Name: "a", Quota: 1})
	regrouping := groupsOf(t, spins(t), accountant.Group{Name: "a", Quota: 1, Autoregroup: true}, accountant.Group{Name: "b", Quota: 1})
	for _, c := range []struct {
		name, start, user string
		cfg               negotiator.Config
		want              string
	}{
		{"no group regroups", "TARGET.SubmitterAutoregroup", "a.alice@x", own, ""},
		{"regroups", "TARGET.SubmitterAutoregroup", "a.alice@x", regrouping, "1.0>slot1 1.1>slot2"},
		{"in its own group", "!TARGET.SubmitterAutoregroup", "a.alice@x", regrouping, "1.0>slot1"},
		{"its group does not", "TARGET.SubmitterAutoregroup", "b.alice@x", regrouping, ""},
		{"negotiates with nobody's group", `TARGET.SubmitterNegotiatingGroup == "<none>"`, "a.alice@x", regrouping, "1.0>slot1 1.1>slot2"},
		{"negotiates with its own", `TARGET.SubmitterNegotiatingGroup == "a"`, "a.alice@x", regrouping, "1.0>slot1"},
		{"is of its group", `TARGET.SubmitterGroup == "a"`, "a.alice@x", regrouping, "1.0>slot1 1.1>slot2"},
		{"negotiates with both", `TARGET.SubmitterNegotiatingGroup == (TARGET.SubmitterAutoregroup ? "<none>" : "a")`, "a.alice@x", regrouping, "1.0>slot1 1.1>slot2"},
	} {
		p := negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1", "Requirements = "+c.start), aSlot(t, "slot2", "Requirements = "+c.start)}, Jobs: []jobprio.Run{aJob(t, 1, 3, c.user, "")}}
		if got := pairs(Cycle(p, c.cfg, now)); got != c.want {
			t.Errorf("%s: Cycle matches %q, want %q", c.name, got, c.want)
		}
	}
}

// A claim from outside was matched by who knows which group.
func TestSlotsTellWhoNegotiated(t *testing.T) {
	cfg := groupsOf(t, spins(t), accountant.Group{Name: "a", Quota: 2, Autoregroup: true})
	cfg.Preemption.Requirements = expr(t, `RemoteAutoregroup && RemoteNegotiatingGroup == "<none>"`)
	held := `State = "Claimed"; Activity = "Busy"; RemoteUser = "a.bob@x"`
	p := negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1", held), aSlot(t, "slot2", held+`; RemoteAutoregroup = true; RemoteNegotiatingGroup = "<none>"`)},
		Jobs: []jobprio.Run{aJob(t, 1, 3, "a.alice@x", "")}}
	if got, want := pairs(Cycle(p, cfg, now)), "1.0>slot2"; got != want {
		t.Errorf("Cycle matches %q, want %q", got, want)
	}
}
