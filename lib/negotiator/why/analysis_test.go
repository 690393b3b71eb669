package why

import (
	"testing"

	"fairspool/lib/classad"
)

// TestClauseText tells of clauses as people are shown them.
func TestClauseText(t *testing.T) {
	for _, c := range []struct{ clause, want string }{
		{"Memory > 5", "Memory > 5"},
		{"((Memory > 5))", "Memory > 5"},
		{"(Memory) > (5)", "(Memory) > (5)"},
		{`(Arch == ")")`, `Arch == ")"`},
		{`((TARGET.Arch == "X86_64") =!= false)`, `TARGET.Arch == "X86_64"`},
		{"TARGET.HasX =!= false", "TARGET.HasX =!= false"},
		{"(A) > 3 && (B) =!= false", "(A) > 3 && (B) =!= false"},
	} {
		e, err := classad.ParseExpr(c.clause)
		if err != nil {
			t.Fatal(err)
		}
		if got := clauseText(e); got != c.want {
			t.Errorf("clauseText(%s) = %s, want %s", c.clause, got, c.want)
		}
	}
}
