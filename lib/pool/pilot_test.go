package pool

import "testing"

func TestHashToken(t *testing.T) {
	t.Parallel()
	// printf abc | sha256sum
	if got, want := HashToken("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("HashToken(abc) = %s, want %s", got, want)
	}
}

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
