package man

import (
	"slices"
	"strings"
	"testing"
)

// A page has at most so many source lines, and its first section at most so many, macros included.
const (
	pageLines        = 300
	descriptionLines = 24
)

// generated are the pages that are made from tables of the code, and as long as these.
var generated = []string{"fairspool-keys.5", "submit-commands.5"}

// TestShape holds that each page begins with its name, its synopsis, a short description and examples, is short, and is
// found by the name of the whole.
func TestShape(t *testing.T) {
	for _, p := range pages(t) {
		for _, fault := range p.faults() {
			t.Errorf("%s: %s", p.file, fault)
		}
	}
}

// faults returns in what a page is not in the common form.
func (p page) faults() (faults []string) {
	if len(p.lines) > pageLines && !slices.Contains(generated, p.file) {
		faults = append(faults, "too long")
	}
	sections := p.macro("Sh")
	want := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"}
	if !p.has("SYNOPSIS") {
		want = slices.Delete(want, 1, 2)
	}
	if len(sections) < len(want) || !slices.Equal(sections[:len(want)], want) {
		faults = append(faults, "the first sections are not "+strings.Join(want, ", "))
	}
	if n := len(p.part("DESCRIPTION").lines); n > descriptionLines {
		faults = append(faults, "the description is too long")
	}
	if nd := p.macro("Nd"); len(nd) != 1 || !strings.Contains(nd[0], "fairspool") {
		faults = append(faults, "man -k fairspool does not find it")
	}
	return faults
}
