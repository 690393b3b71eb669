package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/spool"
)

func samplesDir() string { return filepath.Join(os.Getenv("FAIRSPOOL_DIR"), "samples") }

// TestSamples holds that a cycle notes everybody's figures as they are after it,
// and what the jobs that are left asked for.
func TestSamples(t *testing.T) {
	s := fill(t, 2, 3, 1)
	if status, _, bad := negotiate("-q"); status != 0 || bad != "" {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	r, damage, err := s.ReadSamples(spool.Samples{Until: time.Unix(now, 0)})
	if err != nil || len(damage) > 0 {
		t.Fatal(err, damage)
	}
	list := r.Series()
	if len(list) != 2 {
		t.Fatalf("samples of %d, want alice and bob: %+v", len(list), list)
	}
	for i, want := range []struct {
		name   string
		demand float64
	}{{"alice@pool", 2}, {"bob@pool", 0}} {
		p := list[i].Points[0]
		if list[i].Name != want.name || p.Demand != want.demand || p.InUse != 1 || p.Priority != 0.5 || !p.Time.Equal(time.Unix(now, 0)) {
			t.Errorf("%s: %+v, want %s with 1 in use and a demand of %v", list[i].Name, p, want.name, want.demand)
		}
	}
}

func TestDryRunTakesNoSamples(t *testing.T) {
	fill(t, 1, 1)
	if status, _, bad := negotiate("-dry-run"); status != 0 {
		t.Fatalf("negotiate -dry-run = %d, %s", status, bad)
	}
	if _, err := os.Stat(samplesDir()); !os.IsNotExist(err) {
		t.Errorf("negotiate -dry-run left %s: %v", samplesDir(), err)
	}
}

// TestSamplesInTheWay holds that the cycle is done when nothing can be noted.
func TestSamplesInTheWay(t *testing.T) {
	s := fill(t, 1, 1)
	if err := os.WriteFile(samplesDir(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, bad := negotiate("-q")
	if status != 0 || strings.Count(bad, "\n") != 1 || !strings.Contains(bad, "the cycle is done, but nothing was noted") {
		t.Errorf("negotiate = %d, %q, want 0 and one warning", status, bad)
	}
	if err := s.View(func(v *spool.View) error {
		if n := len(v.Claims()); n != 1 {
			t.Errorf("%d claims, want 1", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
