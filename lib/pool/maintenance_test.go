package pool

import (
	"testing"
	"time"

	"fairspool/lib/classad"
)

// TestMaintenanceClause holds which jobs the clause of a maintenance lets in, and that its times are read back from it.
func TestMaintenanceClause(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0)
	m := Maintenance{Start: now.Add(time.Hour), End: now.Add(2 * time.Hour)}
	if start, end, ok := MaintenanceOf(m.Clause().String()); !ok || !start.Equal(m.Start) || !end.Equal(m.End) {
		t.Errorf("the times of %s are %v, %v, %v", m.Clause(), start, end, ok)
	}
	for _, text := range []string{"", "time() >= 5", "time() >= 5 || true <= 3 - time()", "time() >= 99999999999999999999 || x <= 3 - time()"} {
		if _, _, ok := MaintenanceOf(text); ok {
			t.Errorf("%q is taken for a maintenance", text)
		}
	}
	slot := classad.New()
	slot.Set(AttrRequirements, Maintained(classad.Literal(classad.Bool(true)), []Maintenance{m}))
	for _, c := range []struct {
		job  string
		at   time.Duration // after now
		want bool
	}{
		{"", 0, false},
		{"WallTimeLimit = 3600;", 0, true},
		{"WallTimeLimit = 3601;", 0, false},
		{"AllowedJobDuration = 60;", 59 * time.Minute, true},
		{"AllowedExecuteDuration = 61;", 59 * time.Minute, false},
		{"WallTimeLimit = 60; AllowedJobDuration = 7200;", 0, true}, // the first of them counts
		{"WallTimeLimit = 0;", 90 * time.Minute, false},
		{"WallTimeLimit = \"x\";", 0, false},
		{"", 2 * time.Hour, true},
	} {
		job, err := classad.ParseAd("[ " + c.job + " Requirements = true ]")
		if err != nil {
			t.Fatal(err)
		}
		if got := classad.Match(&classad.Context{Now: now.Add(c.at)}, slot, job); got != c.want {
			t.Errorf("%q %v after: %v, want %v", c.job, c.at, got, c.want)
		}
	}
}
