package cmd

import (
	"testing"

	"fairspool/lib/maui"
)

var mauiPage = page{file: "../docs/maui.md", examples: "../docs/examples/maui", test: "cmd/maui_test.go"}

func TestMauiPage(t *testing.T) {
	t.Parallel()
	mauiPage.testSessions(t)
}

func TestMauiPageEquations(t *testing.T) { mauiPage.testEquations(t, 34) }

func TestMauiPageFacts(t *testing.T) {
	var facts []fact
	for _, f := range maui.Facts {
		facts = append(facts, fact{f.Name, f.Attributes, f.Unit, f.Default})
	}
	mauiPage.testFacts(t, facts)
}
