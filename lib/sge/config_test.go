package sge

import (
	"strings"
	"testing"

	"fairspool/lib/classad"
)

// What is no policy and no complex is nothing, and no panic.
func TestNoSuch(t *testing.T) {
	var letters strings.Builder
	for p := range TicketPolicies + 2 {
		letters.WriteString(p.String())
	}
	if got := letters.String(); got != "OFS??" {
		t.Errorf("the letters are %s, want OFS, and none for what is no policy", got)
	}
	for _, complex := range []int{-1, len(complexes().Complexes)} {
		if got := complexes().Wants(complex, "RequestLic", classad.String("two")); got != "" {
			t.Errorf("complex %d wants %s", complex, got)
		}
	}
}
