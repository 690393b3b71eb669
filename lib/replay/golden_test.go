package replay

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/internal/golden"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// realRun is what a pool with HTCondor did with real jobs.
type realRun struct{ *golden.RealRun }

// TestGoldenRealRun replays such pools, and holds it to what they did: where priorities stand still, as the runs say no half-life, the
// matches of each cycle that made some; else each user's part of the slots, and the EUPs, as far as those of a pool of ten slots can agree.
func TestGoldenRealRun(t *testing.T) {
	golden.EachRealRun(t, filepath.Join("..", "negotiator", "negotiation", "testdata", "golden"), func(t *testing.T, _ string, of *golden.RealRun) {
		run := realRun{of}
		w, r, eups := run.replayed(t)
		if run.Moves() {
			run.compareShares(t, w, r, eups)
		} else {
			run.compareWaves(t, w, r)
		}
	})
}

// replayed replays a run. The reference hears of the end of a job in the next cycle, and charges it until then: jobs run for whole
// cycles. The first cycle is at the first submission. The EUPs are by the seconds after it.
func (run realRun) replayed(t *testing.T) (w *workload.Workload, r *Result, eups map[int64]map[string]float64) {
	interval := 5
	fmt.Sscan(run.Config["NEGOTIATOR_INTERVAL"], &interval)
	settings := []string{"CLAIM_WORKLIFE=0"}
	if h := run.Config["PRIORITY_HALFLIFE"]; h != "" {
		settings = append(settings, "PRIORITY_HALFLIFE="+h)
	}
	var lines []string
	for _, s := range run.Submissions {
		length := (int(math.Ceil(s.SleepSeconds)) + interval - 1) / interval * interval
		for range s.Jobs {
			lines = append(lines, fmt.Sprintf("%d %d 1 %s", int(math.Ceil(s.T-run.Submissions[0].T)), length, s.SubmittedBy))
		}
	}
	cfg := configured(t, settings...)
	w, eups = jobs(t, lines...), map[int64]map[string]float64{}
	var list []accountant.Record
	for _, u := range run.Users {
		list = append(list, accountant.Record{Name: u.Name, Factor: u.Factor, Priority: u.Priority, At: w.Start, HalfLife: cfg.Params.HalfLife})
	}
	s := spool.InMemory("pool")
	ads, err := Slots(run.SlotsCount, 1)
	if err == nil {
		err = Put(s, ads, list)
	}
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	for at := int64(0); float64(at) < run.Samples[len(run.Samples)-1].T; at++ {
		events = append(events, Event{At: at, Do: func(tx *spool.Tx) error {
			now := w.Start.Add(time.Duration(at) * time.Second)
			eups[at] = map[string]float64{}
			for _, rec := range tx.Submitters() {
				eups[at][rec.Name] = rec.AsOf(now, cfg.Params).Effective(now, cfg.Params)
			}
			return nil
		}})
	}
	if r, err = Run(w, Settings{Config: cfg, Spool: s, Interval: time.Duration(interval) * time.Second, Events: events}); err != nil {
		t.Fatal(err)
	}
	return w, r, eups
}

// compareWaves compares the matches of the cycles that make some.
func (run realRun) compareWaves(t *testing.T, w *workload.Workload, r *Result) {
	starts := map[int64]map[string]int{}
	for i, f := range r.Fates {
		if starts[f.Start] == nil {
			starts[f.Start] = map[string]int{}
		}
		starts[f.Start][w.Jobs[i].User+"@pool"]++
	}
	times, n := slices.Sorted(maps.Keys(starts)), 0
	for _, c := range run.Cycles {
		if len(c.MatchesPerSubmitter) == 0 {
			continue
		}
		if !maps.Equal(starts[times[n]], c.MatchesPerSubmitter) {
			t.Errorf("wave %d matches %v, the reference's %v", n+1, starts[times[n]], c.MatchesPerSubmitter)
		}
		n++
	}
	if n < 3 {
		t.Errorf("%d cycles with matches: want 3 at least", n)
	}
}

// compareShares compares which part of what is held is each user's, on average over windows from the last submission on, and the EUPs at
// the end of each.
func (run realRun) compareShares(t *testing.T, w *workload.Workload, r *Result, has map[int64]map[string]float64) {
	const window, shares, priorities = 40, 0.07, 0.5 // seconds; and how far values may be apart: of ten slots one is a tenth
	first := run.Submissions[0].T
	for from := run.Submissions[len(run.Submissions)-1].T; from+window <= run.Samples[len(run.Samples)-1].T; from += window {
		got, want, eups := map[string]float64{}, map[string]float64{}, map[string]float64{}
		for i, f := range r.Fates {
			if n := min(float64(f.End)+first, from+window) - max(float64(f.Start)+first, from); n > 0 {
				got[w.Jobs[i].User+"@pool"] += n
				got[""] += n
			}
		}
		for _, x := range run.Samples {
			if x.T >= from && x.T < from+window {
				for name, n := range x.Claimed {
					want[name] += n
					want[""] += n
				}
				for name, u := range x.Userprio {
					eups[name] = u.EffectivePriority
				}
			}
		}
		for name, eup := range eups {
			if part, whole := got[name]/got[""], want[name]/want[""]; math.Abs(part-whole) > shares {
				t.Errorf("from %.1f s on %s has %.3f of what is held, the reference's %.3f", from, name, part, whole)
			}
			last := has[int64(from+window-first)][name]
			if math.Abs(last-eup) > priorities {
				t.Errorf("at %.1f s the EUP of %s is %.3f, the reference's %.3f", from+window, name, last, eup)
			}
		}
	}
}
