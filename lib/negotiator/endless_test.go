package negotiator

import (
	"fmt"
	"strings"
	"testing"

	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Nobody's expressions hold up a cycle: those that double with every level are given
// up, and their jobs are told. A cycle that evaluates them does not end.
func TestEndlessExpressions(t *testing.T) {
	var fan strings.Builder
	for i := range 40 {
		fmt.Fprintf(&fan, "A%d = (A%d + A%d + TARGET.Cpus) > 0; ", i, i+1, i+1)
	}
	var slots []pool.Slot
	for i := range 200 {
		slots = append(slots, aSlot(t, fmt.Sprintf("slot%d", i+1), fmt.Sprintf("Memory = %d", 1000+i)))
	}
	p := Pool{Slots: slots, Jobs: []jobprio.Run{
		aJob(t, 1, 3, "alice@x", fan.String()+"Requirements = A0"),
		aJob(t, 2, 3, "bob@x", fan.String()+"Rank = A0; Requirements = TARGET.Memory > 0"),
		aJob(t, 3, 3, "carol@x", ""),
	}}
	plan := Cycle(p, defaults(t), now)
	if got := matched(plan); got["alice@x"] != 0 || got["bob@x"] != 3 || got["carol@x"] != 3 {
		t.Errorf("Cycle matches %v, want 3 of bob@x and 3 of carol@x", got)
	}
	const want = "1.0 3 alice@x: no match found: the job's Requirements take too many steps to evaluate: make them simpler"
	if got := reasons(plan); len(got) != 1 || got[0] != want {
		t.Errorf("rejections = %q, want %q", got, want)
	}
	x := plan.Rejections[0]
	if got, want := x.Report().Help(plan.Autoclusters[x.Autocluster]), "Requirements that take fewer steps to evaluate"; got != want {
		t.Errorf("Help() = %q, want %q", got, want)
	}
}

// Nor do those of slots: what attributes that ask the job come to is found without
// looking at each as often as there are ways to it.
func TestEndlessMeanings(t *testing.T) {
	chain, fan := "A0 = TARGET.RequestMemory; ", "B0 = TARGET.RequestMemory; C0 = B0; "
	for i := range 60 {
		chain += fmt.Sprintf("A%d = A%d + 1; ", i+1, i)
		fan += fmt.Sprintf("B%d = B%d + C%d; C%d = C%d - B%d; ", i+1, i, i, i+1, i, i)
	}
	for _, ad := range []string{chain + "Rank = A60", fan + "Rank = B60"} {
		p := Pool{Slots: equal(t, 20, ad), Jobs: []jobprio.Run{aJob(t, 1, 3, "alice@x", "")}}
		if got := matched(Cycle(p, preempting(t), now))["alice@x"]; got != 3 {
			t.Errorf("Cycle matches %d, want 3", got)
		}
	}
}
