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

// named returns the words that pages have as literals at the begin of a line.
func named(t *testing.T, files ...string) map[string]bool {
	t.Helper()
	set := map[string]bool{}
	for _, file := range files {
		for _, l := range read(t, file).lines {
			l = strings.TrimPrefix(strings.TrimPrefix(l, "."), "It ")
			if rest, is := strings.CutPrefix(l, "Li "); is {
				for _, name := range words.FindAllString(rest, -1) {
					set[name] = true
				}
			}
		}
	}
	return set
}

// TestReportFields holds that cycle.json(5) and condor-shares(7), for the spins, name all fields of a report, and
// waiting(7) every cause.
func TestReportFields(t *testing.T) {
	here := named(t, "cycle.json.5", "condor-shares.7")
	for name := range fields(reflect.TypeFor[negotiator.Report](), map[string]bool{}) {
		if !here[name] {
			t.Errorf("cycle.json.5: lacks %s of the report", name)
		}
	}
	causes := named(t, "waiting.7", "cycle.json.5")
	for _, c := range []negotiator.Cause{negotiator.CauseNoSlots, negotiator.CauseRequirements, negotiator.CauseSlotRequirements,
		negotiator.CauseTooWide, negotiator.CauseTooSmall, negotiator.CauseTaken, negotiator.CauseClaimed, negotiator.CauseReserved,
		negotiator.CauseResting, negotiator.CauseMaintenance, negotiator.CauseSlotConstraint, negotiator.CauseBusy, negotiator.CauseJobConstraint,
		negotiator.CauseConcurrencyLimit, negotiator.CauseCeiling, negotiator.CauseQuota, negotiator.CauseShare, negotiator.CauseSkipped,
		negotiator.CauseOthers, negotiator.CauseOwnJobs, negotiator.Left} {
		if !causes[string(c)] {
			t.Errorf("waiting.7: lacks the cause %s", c)
		}
	}
}

// TestReportClaimStates holds that json(7) names all states of claims, which -explain has.
func TestReportClaimStates(t *testing.T) {
	text := strings.Join(read(t, "json.7").lines, "\n")
	for s := pool.Matched; s <= pool.Promised; s++ {
		if _, states, _ := strings.Cut(text, ".It Li States"); !strings.Contains(strings.SplitN(states, ".It ", 2)[0], s.String()) {
			t.Errorf("json.7: States lacks %s", s)
		}
	}
}

// TestReportProtections holds that preemption(7) names all that protects claimed slots.
func TestReportProtections(t *testing.T) {
	lines := read(t, "preemption.7").lines
	for _, p := range negotiator.Protections() {
		if !slices.Contains(lines, ".It Li "+string(p)) {
			t.Errorf("preemption.7: lacks the protection %s", p)
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
