package accountant

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func alike(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want)) }

// TestDecayedUsage holds the decay to half-lives, and its linear form to Grid Engine's figures.
func TestDecayedUsage(t *testing.T) {
	own := func(d time.Duration, linear bool) DecayParams {
		return DecayParams{HalfTime: time.Hour, Linear: linear, CPU: UsageParams{Own: true, HalfLife: d}}
	}
	linear := func(d time.Duration) DecayParams { return DecayParams{HalfTime: d, Linear: true} }
	for _, c := range []struct {
		name  string
		p     DecayParams
		after time.Duration
		want  float64
	}{
		{"one hour of one", DecayParams{HalfTime: time.Hour}, time.Hour, 0.5},
		{"ten hours of one", DecayParams{HalfTime: time.Hour}, 10 * time.Hour, 1.0 / 1024},
		{"halftime 0", DecayParams{}, 1000 * time.Hour, 1},
		{"cpu=30", own(30*time.Minute, false), time.Hour, 0.25},
		{"cpu=0", own(0, false), time.Hour, 1},
		{"cpu=-1", own(-time.Minute, false), time.Millisecond, 0},
		{"cpu=-1, no time", own(-time.Minute, false), 0, 1},
		{"a short half-life", own(time.Second, false), time.Second, 0.5},
		{"linear: one hour of one", linear(time.Hour), time.Hour, 0.49799},
		{"linear: ten hours of one", linear(time.Hour), 10 * time.Hour, 0.000938},
		{"linear: 168 h, indistinguishable from halving", linear(168 * time.Hour), 168 * time.Hour, 0.49998},
		{"linear: halftime 0", linear(0), 1000 * time.Hour, 1},
		{"linear: cpu=30", own(30*time.Minute, true), time.Hour, math.Pow(1-math.Ln2/30, 60)},
		{"linear: cpu=0", own(0, true), time.Hour, 1},
		{"linear: cpu=-1", own(-time.Minute, true), time.Millisecond, 0},
		{"linear: a half-life too short for it", own(time.Second, true), time.Minute, 0},
	} {
		p := Params{Decay: c.p}
		y := Tally{Key: Key{KindOwn, "alice"}}.Report(Used{CPU: time.Second}, start, p).AsOf(start.Add(c.after), p)
		if math.Abs(y.Decayed.CPU-c.want) > 1e-5 || math.Abs(y.Decayed.CPU-c.want) > 1e-3*c.want || y.LongTerm.CPU != 1 {
			t.Errorf("%s: %v, long-term %v, want %v, 1", c.name, y.Decayed.CPU, y.LongTerm.CPU, c.want)
		}
	}
}

// Every kind of usage decays by itself, and adds up.
func TestKindsDecay(t *testing.T) {
	halved := UsageParams{Own: true, HalfLife: time.Minute}
	p := Params{Decay: DecayParams{Memory: halved, IO: halved}}
	used := Used{CPU: time.Second, Memory: 2, IO: 3}
	y := Tally{Key: Key{KindOwn, "alice"}}.Report(used, start, p).Report(used, start, p).AsOf(start.Add(time.Minute), p)
	if want := (Recent{2, 2, 3}); y.Decayed != want || y.LongTerm != (Recent{2, 4, 6}) {
		t.Errorf("a minute after %+v twice: %+v, long-term %+v, want %+v", used, y.Decayed, y.LongTerm, want)
	}
	y = Tally{Key: y.Key}.Report(Used{Memory: math.NaN(), IO: math.Inf(1)}, start, p)
	if y.Decayed != (Recent{}) || y.LongTerm != (Recent{}) {
		t.Errorf("what is no number counts: %+v", y)
	}
}

// TestCombined weighs kinds of usage.
func TestCombined(t *testing.T) {
	r := Recent{CPU: 100, Memory: 40, IO: 8}
	weights := func(cpu, mem, io float64) DecayParams {
		return DecayParams{CPU: UsageParams{Weight: cpu}, Memory: UsageParams{Weight: mem}, IO: UsageParams{Weight: io}}
	}
	for _, c := range []struct {
		p    DecayParams
		want float64
	}{
		{weights(1, 0, 0), 100}, {weights(2, 1, 1), 62}, {weights(0, 0, 5), 8}, {weights(0, 0, 0), 0},
	} {
		if got := r.Combined(c.p); !alike(got, c.want) {
			t.Errorf("Combined with %+v = %v, want %v", c.p, got, c.want)
		}
	}
}

// TestDecayedAnyOrder: usage decays alike however time is cut and in whatever
// order reports come, and is only ever of its own kinds.
func TestDecayedAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{Decay: DecayParams{HalfTime: time.Duration(rapid.IntRange(0, 200).Draw(t, "halftime")) * time.Hour,
			Linear: rapid.Bool().Draw(t, "linear")}}
		p.Decay.Memory = UsageParams{Own: true, HalfLife: time.Duration(rapid.IntRange(0, 100).Draw(t, "mem")) * time.Minute}
		type report struct {
			at   int
			used float64
		}
		reports := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) report {
			return report{rapid.IntRange(0, 5000).Draw(t, "at"), float64(rapid.IntRange(0, 1e6).Draw(t, "used"))}
		}), 1, 10).Draw(t, "reports")
		at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
		y, end := Tally{Key: Key{KindProject, "atlas"}}, at(5000)
		var want, ever Recent
		for _, r := range reports {
			y = y.AsOf(at(rapid.IntRange(0, 5000).Draw(t, "look")), p)
			y = y.Report(Used{CPU: time.Duration(r.used) * time.Second, Memory: r.used, IO: r.used}, at(r.at), p)
			one := Recent{r.used, r.used, r.used}
			want, ever = want.plus(one.after(end.Sub(at(r.at)), p.Decay)), ever.plus(one)
		}
		y = y.AsOf(end, p)
		if got := y.Decayed; !alike(got.CPU, want.CPU) || !alike(got.Memory, want.Memory) || !alike(got.IO, want.IO) || y.LongTerm != ever {
			t.Errorf("decayed %+v, long-term %+v, want %+v, %+v", got, y.LongTerm, want, ever)
		}
		if y.Windows != nil || y.Interval != 0 {
			t.Errorf("a project has windows: %+v", y)
		}
	})
}

// TestIrrelevantTally tells what may be forgotten.
func TestIrrelevantTally(t *testing.T) {
	p := tallied(time.Hour, 2)
	user, own := Key{KindUser, "alice"}, Key{KindOwn, "alice"}
	for _, c := range []struct {
		name string
		y    Tally
		want bool
	}{
		{"nothing ever", Tally{Key: user}, true},
		{"in use", Tally{Key: user, At: start, Cpus: 1}, false},
		{"equivalents in use", Tally{Key: user, At: start, PE: 1}, false},
		{"a window", Tally{Key: user, At: start, Windows: []Window{{Utilized: Usage{Millis: 1}}}}, false},
		{"a window of old", Tally{Key: user, At: start.Add(-2 * time.Hour), Windows: []Window{{Utilized: Usage{Millis: 1}}}}, true},
		{"decayed to next to nothing", Tally{Key: own, At: start, Decayed: Recent{CPU: 1e-7}}, true},
		{"decayed", Tally{Key: own, At: start, Decayed: Recent{IO: 1e-5}}, false},
		{"long-term", Tally{Key: own, At: start, LongTerm: Recent{Memory: 1e-7}}, false},
	} {
		if got := c.y.Irrelevant(start, p); got != c.want {
			t.Errorf("%s: Irrelevant = %v, want %v", c.name, got, c.want)
		}
	}
}
