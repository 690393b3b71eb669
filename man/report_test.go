package man

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

var words = regexp.MustCompile(`[A-Za-z]+`)

// negotiate(8) names all that a report has, with every cause.
func TestReportFields(t *testing.T) {
	p := read(t, "negotiate.8")
	named := map[string]bool{}
	for _, l := range p.lines {
		l = strings.TrimPrefix(strings.TrimPrefix(l, "."), "It ")
		if rest, is := strings.CutPrefix(l, "Li "); is {
			for _, name := range words.FindAllString(rest, -1) {
				named[name] = true
			}
		}
	}
	for name := range fields(reflect.TypeFor[negotiator.Report](), map[string]bool{}) {
		if !named[name] {
			t.Errorf("negotiate.8: lacks %s of the report", name)
		}
	}
	for _, c := range []negotiator.Cause{negotiator.CauseNoSlots, negotiator.CauseRequirements, negotiator.CauseSlotRequirements,
		negotiator.CauseTooWide, negotiator.CauseTooSmall, negotiator.CauseTaken, negotiator.CauseClaimed, negotiator.CauseReserved,
		negotiator.CauseResting, negotiator.CauseSlotConstraint, negotiator.CauseBusy, negotiator.CauseJobConstraint,
		negotiator.CauseConcurrencyLimit, negotiator.CauseCeiling, negotiator.CauseQuota, negotiator.CauseShare, negotiator.CauseSkipped,
		negotiator.CauseOthers, negotiator.CauseOwnJobs, negotiator.Left} {
		if !named[string(c)] {
			t.Errorf("negotiate.8: lacks the cause %s", c)
		}
	}
}

// negotiate(8) names all states of claims, which -explain tells of.
func TestReportClaimStates(t *testing.T) {
	text := strings.Join(read(t, "negotiate.8").lines, "\n")
	for s := pool.Matched; s <= pool.Promised; s++ {
		if _, states, _ := strings.Cut(text, ".It Li States"); !strings.Contains(strings.SplitN(states, ".It ", 2)[0], s.String()) {
			t.Errorf("negotiate.8: States lacks %s", s)
		}
	}
}

// negotiate(8) names all that protects claimed slots.
func TestReportProtections(t *testing.T) {
	lines := read(t, "negotiate.8").lines
	for _, p := range negotiator.Protections() {
		if !slices.Contains(lines, ".It Li "+string(p)) {
			t.Errorf("negotiate.8: lacks the protection %s", p)
		}
	}
}

// fields returns the names that values of a type have in JSON, at any depth.
func fields(of reflect.Type, names map[string]bool) map[string]bool {
	switch of.Kind() {
	case reflect.Slice, reflect.Pointer:
		return fields(of.Elem(), names)
	case reflect.Struct:
		if of == reflect.TypeFor[pool.Procs]() {
			return names // a text
		}
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "-" {
				names[cmp.Or(name, f.Name)] = true
				fields(f.Type, names)
			}
		}
	}
	return names
}
