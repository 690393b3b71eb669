package negotiation

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// classesOf tells the slots of a pool apart, and returns the class of each.
func classesOf(p negotiator.Pool, cfg negotiator.Config) []*shapes.Class {
	slots := make([]*shapes.Slot, len(p.Slots))
	for i, s := range p.Slots {
		slots[i] = &shapes.Slot{Ad: s.Ad, Weight: accountant.One}
	}
	x := shapes.New(shapes.NewPayers(&classad.Context{Now: now}, 0, nil, nil), slots, p.Jobs, shapes.Rules{Ranks: []*classad.Expr{cfg.PreJobRank, cfg.PostJobRank}})
	classes := make([]*shapes.Class, len(slots))
	x.Classify(slots, func(i int, class, _ *shapes.Class) { classes[i] = class })
	return classes
}

// rankOf returns what an expression ranks target with, or less than anything when that is no number.
func rankOf(eval *classad.Context, e *classad.Expr, my, target *classad.Ad) float64 {
	if v, ok := classad.Rank(eval, e, my, target); ok && !math.IsNaN(v) {
		return v
	}
	return math.Inf(-1)
}

// The values of their expressions distinguish slots.
func TestSlotsOfOneGroup(t *testing.T) {
	jobs := []jobprio.Run{aJob(t, 1, 1, "alice@x", "Urgent = true"), aJob(t, 2, 1, "bob@x", "Requirements = TARGET.Disk > 5 && TARGET.Zone != \"a\"")}
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"what nothing asks for", "LoadAvg = 0.1; Serial = 7", "LoadAvg = 0.2; Serial = 8", true},
		{"on one side of a bound", "Start = LoadAvg < 0.5; LoadAvg = 0.1; Requirements = START", "Start = LoadAvg < 0.5; LoadAvg = 0.2; Requirements = START", true},
		{"on two sides", "Start = LoadAvg < 0.5; LoadAvg = 0.1; Requirements = START", "Start = LoadAvg < 0.5; LoadAvg = 0.7; Requirements = START", false},
		{"where the job decides", "LoadAvg = 0.7; Requirements = LoadAvg < 0.5 || TARGET.Urgent", "LoadAvg = 0.8; Requirements = LoadAvg < 0.5 || TARGET.Urgent", true},
		{"by another way", "LoadAvg = 0.1; Requirements = Busy || TARGET.Urgent; Busy = LoadAvg < 0.5", "LoadAvg = 0.2; Requirements = Busy || TARGET.Urgent; Busy = LoadAvg < 0.5", true},
		{"the job's, where the slot has none", "Requirements = Urgent", "Requirements = Urgent; Urgent = false", false},
		{"what a job asks for", "Disk = 6", "Disk = 7", false},
		{"what it asks for, worked out", "Disk = Total - Used; Total = 9; Used = 2", "Disk = Total - Used; Total = 8; Used = 1", true},
		{"texts", `Zone = "b"; Disk = 9`, `Zone = "B"; Disk = 9`, false},
		{"circles", "Requirements = A; A = B; B = A", "Requirements = A; A = B; B = A", true},
		{"what cannot be told", `Requirements = eval("Memory > 1")`, `Requirements = eval("Memory > 1"); Odd = 1`, false},
		{"a name like a scope", "Requirements = MY.Memory > 1; MY = [ Memory = 0 ]", "Requirements = MY.Memory > 1", false},
	} {
		classes := classesOf(negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1", c.a), aSlot(t, "slot2", c.b)}, Jobs: jobs}, defaults(t))
		if same := classes[0].Group == classes[1].Group; same != c.same {
			t.Errorf("%s: slots with %s and %s are in one group: %v, want %v", c.name, c.a, c.b, same, c.same)
		}
	}
}

// Slots of one class are alike to every job: the same matches, the same ranks.
func TestSlotsOfOneClassAreAlike(t *testing.T) {
	terms := []string{"LoadAvg < 0.5", "TARGET.Urgent", "Urgent =?= true", "Memory > RequestMemory", "TARGET.RequestCpus <= MY.Cpus", "Zone == \"a\"", "A", "B || TARGET.Urgent",
		"ifThenElse(TARGET.Owner == \"x\", LoadAvg > 0.3, true)", "isUndefined(Zone)", "MY.A && TARGET.B", "undefined", "Disk", "time() > Since"}
	attributes := []string{"LoadAvg", "Memory", "Cpus", "Zone", "A", "B", "Disk", "Urgent", "Since"}
	rapid.Check(t, func(rt *rapid.T) {
		expression := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(terms), 1, 3).Draw(rt, "terms"), rapid.SampledFrom([]string{" && ", " || "}).Draw(rt, "op"))
		})
		value := rapid.Custom(func(rt *rapid.T) string {
			if rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
				return expression.Draw(rt, "expression")
			}
			return rapid.SampledFrom([]string{"0", "1", "0.2", "0.4", "2000", "\"a\"", "\"b\"", "true", "false", "undefined", "error"}).Draw(rt, "value")
		})
		ad := func(side string) string {
			var text []string
			for _, a := range attributes {
				if rapid.Bool().Draw(rt, "has") {
					text = append(text, a+" = "+value.Draw(rt, side+a))
				}
			}
			text = append(text, "Requirements = "+expression.Draw(rt, side), "Rank = "+expression.Draw(rt, "rank"))
			return strings.Join(text, "; ")
		}
		var p negotiator.Pool
		for i := range rapid.IntRange(2, 12).Draw(rt, "slots") {
			p.Slots = append(p.Slots, aSlot(t, fmt.Sprintf("slot%d", i), ad("slot")))
		}
		for i := range rapid.IntRange(1, 4).Draw(rt, "jobs") {
			p.Jobs = append(p.Jobs, aJob(t, i+1, 1, "alice@x", ad("job")))
		}
		eval, cfg := &classad.Context{Now: now}, defaults(t)
		for i, k := range classesOf(p, cfg) {
			s := p.Slots[i]
			for _, j := range p.Jobs {
				if got, want := classad.Match(eval, j.Ad, k.Ad), classad.Match(eval, j.Ad, s.Ad); got != want {
					rt.Fatalf("slot %v and one of its class %v match job %v: %v and %v", s.Ad, k.Ad, j.Ad, want, got)
				}
				_, rank, _ := classad.NewMatcher(eval, j.Ad).MatchRanks(k.Ad)
				_, want, _ := classad.NewMatcher(eval, j.Ad).MatchRanks(s.Ad)
				pre, wantPre := rankOf(eval, cfg.PreJobRank, k.Ad, j.Ad), rankOf(eval, cfg.PreJobRank, s.Ad, j.Ad)
				post, wantPost := rankOf(eval, cfg.PostJobRank, k.Ad, j.Ad), rankOf(eval, cfg.PostJobRank, s.Ad, j.Ad)
				if rank != want || pre != wantPre || post != wantPost {
					rt.Fatalf("slot %v and one of its class %v rank for job %v: %v %v %v and %v %v %v", s.Ad, k.Ad, j.Ad, want, wantPre, wantPost, rank, pre, post)
				}
			}
		}
	})
}

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
	p := negotiator.Pool{Slots: slots, Jobs: []jobprio.Run{
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
		p := negotiator.Pool{Slots: equal(t, 20, ad), Jobs: []jobprio.Run{aJob(t, 1, 3, "alice@x", "")}}
		if got := matched(Cycle(p, preempting(t), now))["alice@x"]; got != 3 {
			t.Errorf("Cycle matches %d, want 3", got)
		}
	}
}
