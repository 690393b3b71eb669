package accounts

import (
	"testing"

	"fairspool/lib/accountant"
)

// A long domain that all share makes nobody a neighbour.
func TestUnknown(t *testing.T) {
	var known []accountant.Record
	for _, name := range []string{"alice@example.org", "root@example.org", "bob@example.org", "bob@example.com", "physics.carol@example.org"} {
		known = append(known, accountant.Record{Name: name})
	}
	for _, c := range []struct{ name, hint string }{
		{"alise@example.org", "alice@example.org"},
		{"rot@example.org", "root@example.org"},
		{"tim@example.org", ""},
		{"physics.carl@example.org", "physics.carol@example.org"},
		{"alice@exmaple.org", "alice@example.org"},
		{"alise@exmaple.org", ""},
		{"alice@elsewhere.net", ""},
		{"carol", "physics.carol@example.org"},
		{"carol@example.org", "physics.carol@example.org"},
		{"alise", "alice"},
		{"tim", ""},
	} {
		want := c.name + ": no such submitter"
		if c.hint != "" {
			want += "; did you mean " + c.hint + "?"
		}
		if got := Unknown(c.name, known).Error(); got != want {
			t.Errorf("Unknown(%s) = %q, want %q", c.name, got, want)
		}
	}
	if got, want := Unknown("alise@example.org", known[1:]).Error(), "alise@example.org: no such submitter"; got != want {
		t.Errorf("Unknown without alice = %q, want %q", got, want)
	}
}
