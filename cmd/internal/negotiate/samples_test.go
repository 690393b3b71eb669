package negotiate

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
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
	testenv.OK(t, os.WriteFile(samplesDir(), nil, 0o600))
	status, _, bad := negotiate("-q")
	if status != 0 || strings.Count(bad, "\n") != 1 || !strings.Contains(bad, "the cycle is done, but nothing was noted") {
		t.Errorf("negotiate = %d, %q, want 0 and one warning", status, bad)
	}
	testenv.OK(t, s.View(func(v *spool.View) error {
		if n := len(v.Claims()); n != 1 {
			t.Errorf("%d claims, want 1", n)
		}
		return nil
	}))
}

// TestSamplesOfAChangedPast holds that the history follows what is changed behind
// the back of the records' last events.
func TestSamplesOfAChangedPast(t *testing.T) {
	s := fill(t, 0)
	at := func(after time.Duration) string { return strconv.FormatInt(time.Unix(now, 0).Add(after).Unix(), 10) }
	p := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}
	old := accountant.Record{Name: alice, Priority: 8}.Settle(time.Unix(now, 0).Add(-time.Hour), p)
	raised := func(after time.Duration) accountant.Record {
		r := old.Settle(time.Unix(now, 0).Add(after), p)
		r.Priority = 1000
		return r
	}
	for i, change := range []func(tx *spool.Tx){
		func(tx *spool.Tx) { tx.PutSubmitter(raised(0)) },
		func(tx *spool.Tx) { tx.PutSubmitter(old); lifecycle.ChangePast(tx) },
		func(tx *spool.Tx) { tx.PutSubmitter(raised(2 * time.Minute)) },
		func(tx *spool.Tx) { tx.DropSubmitter(alice); lifecycle.ChangePast(tx) },
		func(tx *spool.Tx) {},
	} {
		if err := s.Update(func(tx *spool.Tx) error { tx.Op("test"); change(tx); return nil }); err != nil {
			t.Fatal(err)
		}
		if status, _, bad := negotiate("-q", "-now", at(time.Duration(i)*time.Minute)); status != 0 || bad != "" {
			t.Fatalf("negotiate = %d, %s", status, bad)
		}
	}
	r, damage, err := s.ReadSamples(spool.Samples{Until: time.Unix(now, 0).Add(time.Hour)})
	list := r.Series()
	if err != nil || len(damage) > 0 || len(list) != 1 || len(list[0].Points) != 3 {
		t.Fatalf("read %+v, %v, %v, want alice until she was deleted", list, damage, err)
	}
	for i, want := range []float64{1000, old.AsOf(time.Unix(now, 0).Add(time.Minute), p).Priority, 1000} {
		if got := list[0].Points[i].Priority; math.Abs(got-want) > want/100 {
			t.Errorf("RUP after %d minutes = %v, want %v", i, got, want)
		}
	}
}
