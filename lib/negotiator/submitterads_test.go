package negotiator

import (
	"testing"

	"fairspool/lib/accountant"
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
		cfg         Config
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
		p := Pool{Slots: []pool.Slot{aSlot(t, "slot1", "Requirements = "+c.start)}, Submitters: users, Claims: []pool.Claim{busy},
			Jobs: []Job{aJob(t, 1, 1, c.alice, ""), aJob(t, 2, 1, "bob@x", "")}}
		if got := pairs(Cycle(p, c.cfg, now)); got != c.want {
			t.Errorf("%s: Cycle matches %q, want %q", c.name, got, c.want)
		}
	}
}
