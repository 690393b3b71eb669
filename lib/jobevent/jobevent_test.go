package jobevent

import "testing"

func TestParseSet(t *testing.T) {
	for _, c := range []struct {
		text string
		want Set
		bad  string
	}{
		{"held", Of(Held), ""},
		{"held, ended removed", Default, ""},
		{"Executing,VACATED,terminated,aborted", Of(Started, Evicted, Ended, Removed), ""},
		{All.String(), All, ""},
		{"", 0, "no event is named: want submitted, started, held, released, evicted, ended, removed"},
		{"held, hold", 0, `"hold": want submitted, started, held, released, evicted, ended, removed`},
	} {
		got, err := ParseSet(c.text)
		if got != c.want || err != nil && err.Error() != c.bad || err == nil && c.bad != "" {
			t.Errorf("ParseSet(%q) = %v, %v, want %v, %s", c.text, got, err, c.want, c.bad)
		}
	}
}

func TestSet(t *testing.T) {
	if !Default.Has(Held) || Default.Has(Started) || Default.String() != "held, ended, removed" {
		t.Errorf("Default = %v", Default)
	}
	if got := Kind(99).String(); got != "Kind(?)" {
		t.Errorf("Kind(99) = %s", got)
	}
}
