package report

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"fairspool/lib/negotiator"
)

// TestCycles holds that a report tells of the last cycles, and HeadOf finds them.
func TestCycles(t *testing.T) {
	t.Parallel()
	var last Head
	for n := range MostCycles + 3 {
		d := Document{Report: negotiator.Report{Cycle: n + 1, Time: int64(1000 + n), Matches: []negotiator.ReportedMatch{{Job: "1.0"}, {Job: "1.1", Preempts: "2.0"}},
			Rejections: []negotiator.ReportedRejection{{Count: 3}, {Count: 4}}}}
		d.Add(1234567*time.Microsecond, last.Cycles)
		text, err := json.Marshal(d)
		if err == nil {
			last, err = HeadOf(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := (Cycle{n + 1, int64(1000 + n), 1.235, 2, 1, 7}); last.Cycles[0] != want || last.Cycle != n+1 || len(last.Cycles) != min(n+1, MostCycles) {
			t.Errorf("after %d cycles: %v, want %v first", n+1, last, want)
		}
	}
}

func TestHeadOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*Head{
		`{"Cycle": 3, "Time": 1800000000, "Slots": 7, "Warnings": ["a"], "Submitters": [], "Cycle": 9}`: {Cycle: 3, Time: 1800000000, Warnings: []string{"a"}},
		`{"SchemaVersion": 1, "Cycle": 3, "Submitters": []}`:                                            {Cycle: 3}, `{"Cycle": 3}`: {Cycle: 3}, `{"Time": "now"}`: nil, `{"Cycle": 3, "Submitters": [`: {Cycle: 3}, `{"Cycle": 3`: nil, `{"Cycle": 3,`: nil, `[]`: nil, ``: nil,
	} {
		got, err := HeadOf([]byte(text))
		if (err == nil) != (want != nil) || want != nil && !reflect.DeepEqual(got, *want) {
			t.Errorf("HeadOf(%s) = %v, %v, want %v", text, got, err, want)
		}
	}
}
