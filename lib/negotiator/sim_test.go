package negotiator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// randomSimulation returns a small pool whose users come one after the other, are worth
// different parts of it and have always more jobs, and how many days and how often it is
// to be played.
func randomSimulation(t *testing.T, seed uint64) (s *simulation, days int, every time.Duration) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	cfg := preempting(t)
	cfg.Params.HalfLife = time.Duration(math.Exp(r.Float64()*math.Log(200)) * float64(10*time.Minute)).Round(time.Minute) // to 33 h
	s = simulate(t, cfg, 5+r.IntN(36))
	s.vacates = time.Duration(r.IntN(2)) * time.Minute
	for i := range 2 + r.IntN(3) {
		length := time.Duration(math.Exp(r.Float64()*math.Log(600)) * float64(20*time.Minute)) // to 200 h
		u := s.add(t, fmt.Sprintf("u%d@x", i), []float64{1, 1, 2, 4, 9}[r.IntN(5)], length)
		u.length = func(proc int) time.Duration { return length * time.Duration(80+proc*37%41) / 100 }
		if i > 0 {
			u.from = s.now.Add(time.Duration(r.IntN(6*60)) * time.Minute)
		}
	}
	return s, 3 + r.IntN(4), time.Duration(10+r.IntN(11)) * time.Minute
}

func TestSimExplore(t *testing.T) {
	for seed := range uint64(30) {
		start := time.Now()
		s, days, every := randomSimulation(t, seed)
		s.play(t, every, now.AddDate(0, 0, days))
		half := now.AddDate(0, 0, days).Add(-time.Duration(days) * 12 * time.Hour)
		t.Logf("seed %d: %d slots, half-life %v, vacate %v, every %v, %d days: oustings %d, in last half %d; %v", seed, len(s.slots), s.cfg.Params.HalfLife, s.vacates, every, days, len(s.ousted), len(s.oustings(half)), time.Since(start))
		fixed := s.fixedPoint()
		for i, u := range s.users {
			least := math.Inf(1)
			for _, x := range s.samples {
				if !x.at.Before(half) {
					least = min(least, x.held[u.name])
				}
			}
			t.Logf("   %s: factor %g, length %v, mean %.2f want %.2f, least %g", u.name, s.records[u.name].Factor, u.length(0).Round(time.Minute), s.mean(u.name, half), fixed[i], least)
		}
	}
}

// fixedPoint returns what users with always more jobs hold in the end: usages that are in
// the inverse ratio of the EUPs that they lead to, which is that of the roots of the
// factors, but for RUPs that stay at their least.
func (s *simulation) fixedPoint() []float64 {
	held := make([]float64, len(s.users))
	for range 1000 {
		sum := 0.0
		parts := make([]float64, len(held))
		for i, u := range s.users {
			parts[i] = 1 / (s.records[u.name].Factor * math.Max(held[i], .5))
			sum += parts[i]
		}
		for i := range held {
			held[i] = (held[i] + parts[i]/sum*float64(len(s.slots))) / 2
		}
	}
	return held
}
