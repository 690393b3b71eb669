package pool

import "testing"

func TestPilotStates(t *testing.T) {
	t.Parallel()
	for s := Asked; s <= Void; s++ {
		if got, err := ParsePilotState(s.String()); got != s || err != nil {
			t.Errorf("ParsePilotState(%v) = %v, %v", s, got, err)
		}
		if want := s == Gone || s == Void; s.Over() != want {
			t.Errorf("%v.Over() = %v, want %v", s, s.Over(), want)
		}
	}
	if got, err := ParsePilotState("live"); err == nil {
		t.Errorf("ParsePilotState(live) = %v, want an error", got)
	}
	if got := PilotState(0).String(); got != "PilotState(0)" {
		t.Errorf("PilotState(0) = %s", got)
	}
}
