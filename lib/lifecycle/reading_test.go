package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/negotiator"
	"fairspool/spool"
)

// TestFirstCycleReads holds that a first cycle decides as one that reads whole ads, and how often it looks until it has read enough: with
// what its sample of jobs and slots looks up, and again where others look up more.
func TestFirstCycleReads(t *testing.T) {
	t.Parallel()
	const usualStart, usualWish, odd = `TARGET.Owner != "eve"`, "TARGET.Speed > 1", 7
	for _, c := range []struct {
		name, start, wish string // of a slot and a job that are not in the sample
		looks             int
		whole             bool
	}{
		{"alike", usualStart, usualWish, 1, false},
		{"an odd slot", "TARGET.Heat < 3", usualWish, 2, false},
		{"an odd job", usualStart, `TARGET.Colour == "red"`, 2, false},
		{"both", "TARGET.Heat < Limit", `TARGET.Colour == "red"`, 2, false},
		{"a chain", "Third", usualWish, 3, false},
		{"a long chain", "First", usualWish, 4, true},
		{"a name that is made", usualStart, `eval("TARGET.Spe" + "ed") > 1`, 2, true},
		{"names in a list of ads", usualStart, `countMatches(Speed > 1, {TARGET}) > 0`, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1790000000, 0)
			dir := t.TempDir()
			open := func() *spool.Spool {
				s, err := spool.Open(dir, spool.Options{Program: "test", UIDDomain: "example.org"})
				testenv.OK(t, err)
				return s
			}
			s := open()
			testenv.OK(t, s.Update(func(tx *spool.Tx) error {
				tx.Op("test")
				for i := range 4*sampled + 1 {
					start, wish, more := usualStart, usualWish, ""
					if i == odd {
						start, wish, more = c.start, c.wish, "; First = Second; Second = Third; Third = TARGET.Heat < 4; Limit = 2"
					}
					name := fmt.Sprintf("slot1@n%03d", i)
					tx.PutSlot(name, adOf(t, fmt.Sprintf(`Name = %q; Requirements = Start; Start = %s; Cpus = 1; Memory = 1024; Speed = %d; Colour = "red"; Text = "b"%s`,
						name, start, i%3, more)))
					tx.AddCluster(adOf(t, fmt.Sprintf(`Owner = "u%d"; JobStatus = 1; QDate = 1; Requirements = %s; Heat = %d; RequestCpus = Least; Least = 1; Text = "c%d";
						PeriodicHold = JobStatus == 2 && time() - EnteredCurrentStatus > 9; EnteredCurrentStatus = %d`, i%7, wish, i%5, i, i)), []spool.NewRun{{Count: 1}})
				}
				return nil
			}))
			_, err := s.Fold(1, nil)
			testenv.OK(t, err)
			s.Close() // it has the ads that it was given
			s = open()
			defer s.Close()
			testenv.OK(t, s.View(func(v *spool.View) error {
				reading := ReadingOf(v)
				var plan *negotiator.Plan
				var policies Outlook
				looks := 0
				err := reading.Look(v, func(v *spool.View) error {
					looks++
					_, plan, policies = decided(t, v, now, reading.Lacks)
					return nil
				})
				_, want, wanted := decided(t, v, now, nil)
				if a, b := asText(t, plan), asText(t, want); a != b {
					t.Errorf("in part: %s\nwhole: %s", a, b)
				}
				if !reflect.DeepEqual(policies, wanted) {
					t.Errorf("policies in part: %+v\nwhole: %+v", policies, wanted)
				}
				if looks != c.looks || (reading.unread == nil) != c.whole {
					t.Errorf("looked %d times, at the end at whole ads %v, want %d, %v", looks, reading.unread == nil, c.looks, c.whole)
				}
				if !c.whole && slices.Contains(reading.names, "enteredcurrentstatus") {
					t.Error("what a policy mentions is read, though it was not looked up")
				}
				return err
			}))
		})
	}
}
