package negotiator

import (
	"slices"
	"strings"
	"testing"
	"time"
)

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
		a := Analysis{Steps: []Step{{Cause(cause), text, 1}, {Cause(cause), text, 2}}}
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
		a := Analysis{Nearest: &Nearest{Slot: "slot1", Holders: strings.Fields(c.holders)}}
		if got := (ReportedRejection{Cause: CauseClaimed}).Help(a); got != c.want {
			t.Errorf("Help with the holders %s = %q, want %q", c.holders, got, c.want)
		}
	}
}

// A job is told of the slot that is kept for it, and others that it is kept for a wide
// one, not for a wider one: it need not be wider than they are.
func TestReasonsOfReservations(t *testing.T) {
	s := newStream(t, 1, Reserve{0.5, time.Hour})
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
		if got := PriorityText(x); got != want {
			t.Errorf("PriorityText(%v) = %s, want %s", x, got, want)
		}
	}
}
