package negotiation

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// Jobs that are asked about have an analysis, be they matched or not, and no others.
func TestExplained(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 4, ""), Jobs: []jobprio.Run{
		aJob(t, 1, 3, "alice@x", ""), aJob(t, 2, 2, "bob@x", "Requirements = TARGET.Memory > 99999"), aJob(t, 3, 1, "carol@x", "")}}
	for _, c := range []struct {
		asked []pool.Procs
		want  string
		found int // analyses: that of cluster 2, which is rejected, is always there
	}{
		{nil, "[]", 1},
		{[]pool.Procs{{Cluster: 1, First: 1, Last: 1}}, "[{1.1 1}]", 2},
		{[]pool.Procs{{Cluster: 1, First: 2, Last: math.MaxInt}, {Cluster: 3, First: 0, Last: 0}}, "[{1.2 1} {3.0 1}]", 2},
		{[]pool.Procs{{Cluster: 2, First: 0, Last: math.MaxInt}}, "[{2.0-1 0}]", 1},
		{[]pool.Procs{{Cluster: 1, First: 3, Last: 9}, {Cluster: 4, First: 0, Last: 0}}, "[]", 1},
	} {
		cfg := defaults(t)
		cfg.Explain = c.asked
		plan := Cycle(p, cfg, now)
		if got := fmt.Sprint(plan.Explained); got != c.want || len(plan.Autoclusters) != c.found {
			t.Errorf("Explain %v: Explained = %s with %d analyses, want %s with %d", c.asked, got, len(plan.Autoclusters), c.want, c.found)
		}
		for _, x := range plan.Explained {
			if x.Jobs.Cluster != 2 && takenOrLeft(plan.Autoclusters[x.Autocluster].Steps) != 4 {
				t.Errorf("Explain %v: %v = %+v, want 4 slots that match", c.asked, x.Jobs, plan.Autoclusters[x.Autocluster].Steps)
			}
		}
	}
}

// Who else wants a slot is told in the order in which the cycle serves them: of equal
// EUPs the one that has less of what it may use goes first, not the first by name.
func TestAheadInOrder(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 5, ""), Claims: []pool.Claim{
		{Job: pool.JobID{Cluster: 1}, Attempt: 1, Slot: "slot1", Submitter: "alice@x", State: pool.RunningClaim, Weight: accountant.One}},
		Submitters: []accountant.Record{record("alice@x", 2), record("bob@x", 2)},
		Jobs:       []jobprio.Run{aJob(t, 2, 9, "alice@x", ""), aJob(t, 3, 9, "bob@x", "")}}
	plan := Cycle(p, defaults(t), now)
	for i, x := range plan.Autoclusters[0].Ahead {
		if want := plan.Submitters[i].Name; x.Submitter != want {
			t.Errorf("Ahead[%d] = %s, want %s as in Submitters", i, x.Submitter, want)
		}
	}
	if plan.Submitters[0].Name != "bob@x" || len(plan.Autoclusters[0].Ahead) != 2 {
		t.Errorf("Submitters = %+v, Ahead = %+v, want bob and alice", plan.Submitters, plan.Autoclusters[0].Ahead)
	}
}

// Ahead are those with a better EUP, of equal ones nobody, and nice users come last
// whatever theirs is.
func TestAhead(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 1, ""), Submitters: []accountant.Record{record("alice@x", 5), record("bob@x", 7), record("carol@x", 7), record("dave@x", 9)}}
	for i, name := range []string{"alice@x", "bob@x", "carol@x", "dave@x", "nice-user.alice@x"} {
		p.Jobs = append(p.Jobs, aJob(t, i+1, 2, name, ""))
	}
	want := map[string]int{"alice@x": 0, "bob@x": 1, "carol@x": 1, "dave@x": 3, "nice-user.alice@x": 4}
	cfg := defaults(t)
	cfg.Params.NiceFactor = 1
	for _, r := range Cycle(p, cfg, now).Rejections {
		if r.Ahead != want[r.Submitter] {
			t.Errorf("%d submitters are ahead of %s, want %d", r.Ahead, r.Submitter, want[r.Submitter])
		}
		delete(want, r.Submitter)
	}
	if len(want) > 0 {
		t.Errorf("no rejections of %v", want)
	}
}

// One slot is spoken of in the singular.
func TestStepTexts(t *testing.T) {
	for _, c := range []struct{ step, one, two string }{
		{"SlotConstraint", "is left out by NEGOTIATOR_SLOT_CONSTRAINT", "are left out by NEGOTIATOR_SLOT_CONSTRAINT"},
		{"Requirements Cpus > 1", "does not meet the job's Cpus > 1", "do not meet the job's Cpus > 1"},
		{"SlotRequirements", "has no Requirements", "have no Requirements"},
		{"SlotRequirements Cpus > 1", "refuses the job by its Cpus > 1", "refuse the job by their Cpus > 1"},
		{"TooWide Cpus", "is not large enough: Cpus", "are not large enough: Cpus"},
		{"TooSmall Cpus", "has too little left: Cpus", "have too little left: Cpus"},
		{"Claimed", "matches, but was claimed before the cycle", "match, but were claimed before the cycle"},
		{"Reserved", "matches, but is kept for a wide job", "match, but are kept for wide jobs"},
		{"Left", "matches, and is left", "match, and are left"},
	} {
		cause, text, _ := strings.Cut(c.step, " ")
		a := negotiator.Analysis{Steps: []negotiator.Step{{Cause: negotiator.Cause(cause), Text: text, Slots: 1}, {Cause: negotiator.Cause(cause), Text: text, Slots: 2}}}
		if got, want := a.Lines(), []string{"3 slots:", "  1  " + c.one, "  2  " + c.two}; !slices.Equal(got, want) {
			t.Errorf("%s: Lines() = %q, want %q", c.step, got, want)
		}
	}
}

// Several who hold the nearest slot have jobs there.
func TestHelpOfHolders(t *testing.T) {
	for _, c := range []struct{ holders, want string }{
		{"alice@x", "the end of the job of alice@x on slot1, or another slot like it"},
		{"alice@x bob@x", "the end of the jobs of alice@x and bob@x on slot1, or another slot like it"},
		{"alice@x bob@x carol@x", "the end of the jobs of alice@x, bob@x and carol@x on slot1, or another slot like it"},
	} {
		a := negotiator.Analysis{Nearest: &negotiator.Nearest{Slot: "slot1", Holders: strings.Fields(c.holders)}}
		if got := (negotiator.ReportedRejection{Cause: negotiator.CauseClaimed}).Help(a); got != c.want {
			t.Errorf("Help with the holders %s = %q, want %q", c.holders, got, c.want)
		}
	}
}

// A job is told of the slot that is kept for it, and others that it is kept for a wide
// one, not for a wider one: it need not be wider than they are.
func TestReasonsOfReservations(t *testing.T) {
	s := newStream(t, 1, negotiator.Reserve{Fraction: 0.5, Time: time.Hour})
	s.step(0)
	plan := s.step(2)
	got := map[string]string{}
	for _, r := range plan.Rejections {
		got[r.Submitter] = r.Reason
	}
	if want := "no match found: slot1@n0 is kept for 1000000.0 until enough of it is free: it has Cpus 0 of 8 requested"; got["wide@x"] != want {
		t.Errorf("the wide job: %q, want %q", got["wide@x"], want)
	}
	if want := "no match found: the only matching slot is kept for a wide job"; got["narrow@x"] != want {
		t.Errorf("the narrow jobs: %q, want %q", got["narrow@x"], want)
	}
}

func TestPriorityText(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 310: "310", -5: "-5", 0.5525: "0.55250", 0.55111111: "0.55111", 1.11: "1.11000", 1e15: "1000000000000000"} {
		if got := negotiator.PriorityText(x); got != want {
			t.Errorf("PriorityText(%v) = %s, want %s", x, got, want)
		}
	}
}

// BenchmarkAnalyse has ten thousand jobs that are all unlike and of which none is
// matched, and slots of as many kinds.
func BenchmarkAnalyse(b *testing.B) {
	for _, c := range []struct{ shapes, slots, kinds int }{{10_000, 1_000, 1_000}, {5_000, 5_000, 1_250}} {
		p := bigPool(b, c.shapes, c.shapes, c.slots, c.kinds)
		for i := range p.Jobs {
			p.Jobs[i].Ad.Set("Requirements", expr(b, fmt.Sprintf(`TARGET.Arch == "X86_64" && TARGET.Memory >= RequestMemory && TARGET.Disk >= %d`, 10_000_000+i)))
		}
		cfg := defaults(b)
		b.Run(fmt.Sprintf("shapes=%d/slots=%d/kinds=%d", c.shapes, c.slots, c.kinds), func(b *testing.B) {
			for b.Loop() {
				if plan := Cycle(p, cfg, now); len(plan.Rejections) != c.shapes {
					b.Fatalf("%d rejections, want %d", len(plan.Rejections), c.shapes)
				}
			}
		})
		b.Run(fmt.Sprintf("encode/rejections=%d", c.shapes), func(b *testing.B) {
			r := Cycle(p, cfg, now).Report(1, now)
			for b.Loop() {
				text, err := json.Marshal(r)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text)))
			}
		})
	}
}

// takenOrLeft returns how many slots were taken in the cycle or are left.
func takenOrLeft(steps []negotiator.Step) (n int) {
	for _, s := range steps {
		if s.Cause == negotiator.CauseTaken || s.Cause == negotiator.Left {
			n += s.Slots
		}
	}
	return n
}
