package negotiation

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	cases "fairspool/lib/internal/golden"
	"fairspool/lib/negotiator"
)

// realRun is what a pool with HTCondor did with real jobs.
type realRun struct{ *cases.RealRun }

// TestGoldenRealRun plays such a pool, in testdata and, where FAIRSPOOL_GOLDEN names a
// folder, all that are there, with its slots, users and jobs, and compares what the users
// hold: with priorities that stand still the matches of each cycle in which slots came free;
// with priorities that move the shares, averaged.
func TestGoldenRealRun(t *testing.T) {
	cases.EachRealRun(t, filepath.Join("testdata", "golden"), func(t *testing.T, file string, of *cases.RealRun) {
		r, g := realRun{of}, &golden{label: "condor/" + file}
		for _, pie := range []negotiator.Pie{negotiator.MaxMin, negotiator.Spins} {
			r.compare(t, g, pie)
		}
		t.Logf("golden %s: %d of %d agree", g.label, g.agree, g.cases)
	})
}

// number returns a macro of the run's configuration.
func (r realRun) number(t *testing.T, macro string, otherwise float64) float64 {
	t.Helper()
	if text := r.Config[macro]; text != "" {
		return number(t, text)
	}
	return otherwise
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// play plays the run. The reference's accountant hears of the end of a claim in the next
// cycle, and its slot is idle until then: jobs take whole cycles.
func (r realRun) play(t *testing.T, pie negotiator.Pie) *simulation {
	t.Helper()
	every := seconds(r.number(t, "NEGOTIATOR_INTERVAL", 60))
	cfg := defaults(t)
	cfg.Pie = pie
	cfg.Preemption.Consider = true
	cfg.Params.HalfLife = seconds(r.number(t, "PRIORITY_HALFLIFE", 86400))
	s := simulate(t, cfg, r.SlotsCount)
	s.still = map[string]float64{}
	for _, u := range r.Users {
		if !r.Moves() {
			s.still[u.Name] = u.Priority
		}
		s.records[u.Name] = accountant.Record{Name: u.Name, Factor: u.Factor, Priority: u.Priority, At: now, HalfLife: cfg.Params.HalfLife}
	}
	first := math.Inf(1)
	for _, j := range r.Submissions {
		name := r.called(t, j.SubmittedBy)
		record := s.records[name]
		u := s.add(t, name, 0, seconds(j.SleepSeconds).Truncate(every))
		if runs := u.length(0); runs < seconds(j.SleepSeconds) {
			u.length = func(int) time.Duration { return runs + every }
		}
		s.records[name] = record
		u.most, u.from = j.Jobs, now.Add(seconds(j.T))
		first = math.Min(first, j.T)
	}
	s.now = now.Add(seconds(first))
	s.play(t, every, now.Add(seconds(r.Samples[len(r.Samples)-1].T)))
	return s
}

// called returns the submitter's name that belongs to an owner.
func (r realRun) called(t *testing.T, owner string) string {
	t.Helper()
	for _, u := range r.Users {
		if before, _, _ := strings.Cut(u.Name, "@"); before == owner {
			return u.Name
		}
	}
	t.Fatalf("%s is none of the users", owner)
	return ""
}

func (r realRun) compare(t *testing.T, g *golden, pie negotiator.Pie) {
	t.Helper()
	s := r.play(t, pie)
	what := map[negotiator.Pie]string{negotiator.MaxMin: "max-min", negotiator.Spins: "spins"}[pie]
	if r.Moves() {
		r.compareShares(t, g, what, s)
	} else {
		r.compareWaves(t, g, what, s)
	}
}

// compareWaves compares the matches of the cycles that make some: all jobs are equally
// long, so slots come free together.
func (r realRun) compareWaves(t *testing.T, g *golden, what string, s *simulation) {
	var want []map[string]int
	for _, c := range r.Cycles {
		if len(c.MatchesPerSubmitter) > 0 {
			want = append(want, c.MatchesPerSubmitter)
		}
	}
	if len(want) < 3 || len(s.waves) < len(want) {
		t.Fatalf("%s: %d cycles with matches, the reference has %d; want as many, and 3 at least", what, len(s.waves), len(want))
	}
	for i := range want {
		g.check(t, fmt.Sprintf("%s: matches, wave %d", what, i+1), s.waves[i], want[i])
	}
}

// How far shares may be from those of the reference: the tenth of the pool is a slot, and
// priorities half of one. A window is several times as long as jobs and cycles.
const (
	shareTolerance    = 0.07
	priorityTolerance = 0.5
	realWindow        = 40 // seconds
)

// compareShares compares which part of what is held is each user's, on average over windows
// from the last submission on, and the EUPs at the end of each.
func (r realRun) compareShares(t *testing.T, g *golden, what string, s *simulation) {
	last := 0.0
	for _, j := range r.Submissions {
		last = math.Max(last, j.T)
	}
	for from := last; from+realWindow <= r.Samples[len(r.Samples)-1].T; from += realWindow {
		got, want := map[string]float64{}, map[string]float64{}
		for _, x := range s.samples {
			if at := x.at.Sub(now).Seconds(); at >= from && at < from+realWindow {
				addShares(got, x.held)
			}
		}
		eups := map[string]float64{}
		for _, x := range r.Samples {
			if x.T >= from && x.T < from+realWindow {
				addShares(want, x.Claimed)
				for name, u := range x.Userprio {
					eups[name] = u.EffectivePriority
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(eups)) {
			where := fmt.Sprintf("%s: %s from %.1f s on: ", what, name, from)
			part, whole := got[name]/got[""], want[name]/want[""]
			g.check(t, where+"share", near(part, whole, shareTolerance), whole)
			eup := s.eupAt(name, now.Add(seconds(from+realWindow)))
			g.check(t, where+"EUP", near(eup, eups[name], priorityTolerance), eups[name])
		}
	}
}

// addShares adds what is held to sums of each user, and of all under the empty name.
func addShares(sums, held map[string]float64) {
	for name, n := range held {
		sums[name] += n
		sums[""] += n
	}
}

// near returns want if got is no farther away than allowed.
func near(got, want, allowed float64) float64 {
	if math.Abs(got-want) <= allowed {
		return want
	}
	return got
}
