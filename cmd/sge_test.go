package cmd

import (
	"testing"

	"fairspool/lib/sge"
)

var sgePage = page{file: "../docs/sge.md", examples: "../docs/examples/sge", test: "cmd/sge_test.go"}

func TestSGEPage(t *testing.T) {
	t.Parallel()
	sgePage.testSessions(t)
}

func TestSGEPageEquations(t *testing.T) { sgePage.testEquations(t, 60) }

func TestSGEPageFacts(t *testing.T) {
	var facts []fact
	for _, f := range sge.Facts {
		facts = append(facts, fact{f.Name, []string{f.Attribute}, f.Unit, f.Default})
	}
	sgePage.testFacts(t, facts)
}
