package golden

import "testing"

// RealRun is what a pool with HTCondor did with real jobs: who held how many slots, every two seconds. Times are seconds since the
// beginning.
type RealRun struct {
	SlotsCount int `json:"slots_count"`
	Users      []struct {
		Name             string
		Factor, Priority float64
	}
	Config      map[string]string
	Submissions []struct {
		T            float64
		SubmittedBy  string `json:"submitted_by"`
		Jobs         int
		SleepSeconds float64 `json:"sleep_seconds"`
	}
	Samples []struct {
		T        float64
		Claimed  map[string]float64
		Userprio map[string]struct {
			EffectivePriority float64 `json:"effective_priority"`
		}
	}
	Cycles []struct {
		MatchesPerSubmitter map[string]int `json:"matches_per_submitter"`
	}
}

// Moves reports whether priorities do: they stand still in runs that say no half-life.
func (r *RealRun) Moves() bool { return r.Config["PRIORITY_HALFLIFE"] != "" }

// EachRealRun runs a test for each real run, as Each does; folder has those of the repository.
func EachRealRun(t *testing.T, folder string, test func(t *testing.T, file string, r *RealRun)) {
	t.Helper()
	each(t, folder, "condor", "real_run*.json", func(t *testing.T, file string, r *RealRun) {
		if len(r.Samples) == 0 || len(r.Users) == 0 || len(r.Submissions) == 0 {
			t.Fatalf("%s: %d samples, %d users, %d submissions: want some of each", file, len(r.Samples), len(r.Users), len(r.Submissions))
		}
		test(t, file, r)
	})
}
