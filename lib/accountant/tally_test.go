package accountant

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tallied are parameters with windows of an hour.
func tallied(interval time.Duration, depth int) Params {
	p := plain
	p.Windows = WindowParams{Interval: interval, Depth: depth, Decay: 1}
	return p
}

// cpus are the credentials of a job with nothing known but its processors.
func cpus(n int64) Credentials { return Credentials{Cpus: n} }

func processorSeconds(y Tally) (list []float64) {
	for _, w := range y.Windows {
		list = append(list, w.Dedicated.Seconds())
	}
	return list
}

// TestKeys holds what a claim counts under to the two policies' rules.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		by   Credentials
		want []Key
	}{
		{Credentials{}, nil},
		{Credentials{Group: "staff"}, nil},
		{Credentials{User: "alice"}, []Key{{"total", "all"}, {"user", "alice"}, {"own", "alice"}}},
		{Credentials{User: "alice", Project: "atlas"},
			[]Key{{"total", "all"}, {"user", "alice"}, {"project", "atlas"}, {"within", "alice/atlas"}}},
		{Credentials{User: "a", Group: "g", Account: "c", QOS: "q", Class: "b"},
			[]Key{{"total", "all"}, {"user", "a"}, {"group", "g"}, {"acct", "c"}, {"qos", "q"}, {"class", "b"}, {"own", "a"}}},
	} {
		if got := c.by.appendKeys(nil); !slices.Equal(got, c.want) {
			t.Errorf("keys of %+v = %v, want %v", c.by, got, c.want)
		}
	}
	for _, k := range (Credentials{User: "a", Group: "g", Account: "c", QOS: "q", Class: "b", Project: "p"}).appendKeys(nil) {
		if got, want := k.Windowed(), slices.Contains(WindowedKinds(), k.Kind); got != want {
			t.Errorf("Windowed of %v = %v, want %v", k, got, want)
		}
	}
}

// TestEquivalents: invalid processor equivalents count as the processors do, and too
// large or too small ones as the bound.
func TestEquivalents(t *testing.T) {
	for _, c := range []struct {
		cpus int64
		pe   float64
		want load
	}{
		{0, 0, load{0, 0}}, {2, 0, load{2, 2000}}, {2, 5.859375, load{2, 5859}}, {4, 1.5, load{4, 1500}}, {0, 1, load{0, 1000}},
		{2, math.NaN(), load{2, 2000}}, {2, -1, load{2, 2000}}, {2, math.Inf(-1), load{2, 2000}}, {-2, 0, load{0, 0}},
		{2, math.Inf(1), load{2, MaxWeight}}, {2, 1e300, load{2, MaxWeight}}, {2, 1e-300, load{2, 1}}, {math.MaxInt64, 0, load{1e6, MaxWeight}},
	} {
		if got := (Credentials{Cpus: c.cpus, PE: c.pe}).load(); got != c.want {
			t.Errorf("load of %d processors, %v equivalents = %v, want %v", c.cpus, c.pe, got, c.want)
		}
	}
}

// TestWithin: the name of a user's tally in a project says which both are.
func TestWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a%/25F~.]{1,6}`)
		user, project := name.Draw(t, "user"), name.Draw(t, "project")
		k := Within(user, project)
		if u, p := k.UserProject(); u != user || p != project {
			t.Errorf("UserProject of %v = %q, %q, want %q, %q", k, u, p, user, project)
		}
	})
	for k, want := range map[Key][2]string{{KindOwn, "a/b"}: {"a/b", ""}, {KindProject, "a/b"}: {"", "a/b"}, {KindUser, "a"}: {"", ""}} {
		if u, p := k.UserProject(); u != want[0] || p != want[1] {
			t.Errorf("UserProject of %v = %q, %q, want %q", k, u, p, want)
		}
	}
}

// TestWindows follows one tally through claims that cross windows.
func TestWindows(t *testing.T) {
	p := tallied(time.Hour, 3)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	y := Tally{Key: Key{KindUser, "alice"}}
	for _, step := range []struct {
		name string
		y    func() Tally
		want []float64
	}{
		{"two begin at half past", func() Tally { return y.Begin(at(30), cpus(2), p) }, nil},
		{"a third at a quarter past one", func() Tally { return y.Begin(at(75), cpus(1), p) }, []float64{15 * 60 * 2, 30 * 60 * 2}},
		{"nothing happens", func() Tally { return y.AsOf(at(75), p) }, []float64{1800, 3600}},
		{"the clock goes back", func() Tally { return y.AsOf(at(0), p) }, []float64{1800, 3600}},
		{"the two end at three", func() Tally { return y.End(at(180), cpus(2), p) }, []float64{0, 3 * 3600, 45*180 + 15*120}},
		{"what began late is told of late", func() Tally { return y.Begin(at(150), cpus(4), p) }, []float64{0, 3*3600 + 4*1800, 45*180 + 15*120}},
		{"and ends, also late", func() Tally { return y.End(at(165), cpus(4), p) }, []float64{0, 3*3600 + 4*900, 45*180 + 15*120}},
		{"a window is too old", func() Tally { return y.AsOf(at(240), p) }, []float64{0, 3600, 3*3600 + 4*900}},
		{"the third turns out not to have begun", func() Tally { return y.GiveBack(at(75), at(240), cpus(1), p) }, []float64{0, 0, 2*3600 + 4*900}},
		{"all windows are too old", func() Tally { return y.AsOf(at(400), p) }, nil},
	} {
		y = step.y()
		if got := processorSeconds(y); !slices.Equal(got, step.want) {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
	if y.InUse() || !y.Irrelevant(at(400), p) {
		t.Errorf("in the end %+v, want nothing of relevance", y)
	}
}

// TestFairShare holds usage and percentage to worked figures.
func TestFairShare(t *testing.T) {
	windows := func(seconds ...int64) (y Tally) {
		for _, s := range seconds {
			y.Windows = append(y.Windows, Window{Dedicated: Usage{Millis: 1000 * s}, Equivalent: Usage{Millis: 3000 * s}, Utilized: Usage{Millis: 500 * s}})
		}
		return y
	}
	john, all := windows(60, 0, 10, 50, 99), windows(110, 125, 100, 150, 99)
	p := WindowParams{Interval: time.Hour, Depth: 4, Decay: 0.5}
	if got, of := john.FairShare(DedicatedPS, p), all.FairShare(DedicatedPS, p); got != 68.75 || of != 216.25 || math.Abs(Percent(got, of)-31.7919) > 1e-4 {
		t.Errorf("FairShare = %v of %v, %v %%, want 68.75 of 216.25, 31.7919 %%", got, of, Percent(got, of))
	}
	if pe, cpu := john.FairShare(DedicatedPES, p), john.FairShare(UtilizedPS, p); pe != 68.75*3 || cpu != 68.75/2 {
		t.Errorf("FairShare of equivalents, utilized = %v, %v, want %v, %v", pe, cpu, 68.75*3, 68.75/2)
	}
	p.Decay = 0
	if got := john.FairShare(DedicatedPS, p); got != 60 {
		t.Errorf("FairShare with FSDECAY 0 = %v, want 60", got)
	}
	if got := Percent(5, 0); got != 0 {
		t.Errorf("Percent of nothing = %v, want 0", got)
	}
}

// span is a claim as an outsider sees it.
type span struct {
	from, to int64 // ms after start
	cpus     int64
	pe       int64 // thousandths; 0: not known
	void     bool  // given back in the end
}

func (x span) by() Credentials { return Credentials{Cpus: x.cpus, PE: float64(x.pe) / 1000} }

// clipped is what the spans come to in each window, counted plainly.
func clipped(spans []span, now int64, interval time.Duration, depth int) []Window {
	s := series{make([]Window, depth), startOf(start.Add(time.Duration(now)*time.Millisecond), interval), interval.Milliseconds()}
	for k := range s.windows {
		thousandths := int64(0)
		for _, x := range spans {
			lo, hi := s.within(k, start.UnixMilli()+x.from, start.UnixMilli()+x.to)
			if hi > lo && !x.void {
				s.windows[k].Dedicated.Millis += x.cpus * (hi - lo)
				thousandths += cmp.Or(x.pe, 1000*x.cpus) * (hi - lo)
			}
		}
		s.windows[k].Equivalent = Usage{thousandths / 1000, thousandths % 1000}
	}
	return s.trimmed()
}

// TestWindowsAnyOrder draws claims, records their begins and ends in whatever
// order keeps each begin before its end, looks at the tally in between, and wants
// the windows that the claims' own times give.
func TestWindowsAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(1, 5000).Draw(t, "interval")) * time.Millisecond
		depth := rapid.IntRange(1, MaxDepth).Draw(t, "depth")
		p := tallied(interval, depth)
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) span {
			from := rapid.Int64Range(0, 50000).Draw(t, "from")
			return span{from, from + rapid.Int64Range(0, 50000).Draw(t, "length"), rapid.Int64Range(1, 64).Draw(t, "cpus"),
				rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 100_000)).Draw(t, "PE"), rapid.Bool().Draw(t, "void")}
		}), 1, 12).Draw(t, "claims")
		ms := func(n int64) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
		y := Tally{Key: Key{KindUser, "alice"}}.AsOf(start, p)
		begun := make([]bool, len(spans))
		var events []int
		for i := range spans {
			events = append(events, i, i)
		}
		for _, i := range rapid.Permutation(events).Draw(t, "order") {
			y = y.AsOf(ms(rapid.Int64Range(0, y.At.Sub(start).Milliseconds()+1000).Draw(t, "look")), p)
			switch x := spans[i]; {
			case !begun[i]:
				y = y.Begin(ms(x.from), x.by(), p)
				begun[i] = true
			case x.void:
				y = y.GiveBack(ms(x.from), ms(x.to), x.by(), p)
			default:
				y = y.End(ms(x.to), x.by(), p)
			}
		}
		want := clipped(spans, y.At.Sub(start).Milliseconds(), interval, depth)
		if y.InUse() || !reflect.DeepEqual(y.Windows, want) {
			t.Errorf("windows = %v, %d processors, %v equivalents, want %v, 0, 0", y.Windows, y.Cpus, y.PE, want)
		}
	})
}

// TestWindowsCut: the windows of a claim that goes on are the same however time
// is cut, and AsOf changes nothing that it was given.
func TestWindowsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := tallied(time.Duration(rapid.Int64Range(1, 1e7).Draw(t, "interval"))*time.Millisecond, rapid.IntRange(1, MaxDepth).Draw(t, "depth"))
		y := Tally{Key: Key{KindTotal, TotalName}}.Begin(start, Credentials{Cpus: rapid.Int64Range(0, 1000).Draw(t, "cpus"), PE: rapid.Float64Range(0, 1000).Draw(t, "PE")}, p)
		y = y.Report(Used{CPU: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "cpu"))}, start, p)
		cuts := rapid.SliceOf(rapid.Int64Range(0, 1e8)).Draw(t, "cuts")
		slices.Sort(cuts)
		end := start.Add(1e8 * time.Millisecond)
		whole, cut := y.AsOf(end, p), y
		for _, ms := range cuts {
			before := slices.Clone(cut.Windows)
			next := cut.AsOf(start.Add(time.Duration(ms)*time.Millisecond), p)
			if !slices.Equal(before, cut.Windows) {
				t.Fatalf("AsOf changed the windows in place from %v to %v", before, cut.Windows)
			}
			cut = next
		}
		if cut = cut.AsOf(end, p); !reflect.DeepEqual(cut, whole) {
			t.Errorf("cut at %v: %+v, want %+v", cuts, cut, whole)
		}
	})
}

// TestChangedWindows holds a changed FSINTERVAL to worked figures.
func TestChangedWindows(t *testing.T) {
	seconds := func(list ...int64) (w []Window) {
		for _, s := range list {
			w = append(w, Window{Dedicated: Usage{Millis: 1000 * s}})
		}
		return w
	}
	noon := start.Add(12 * time.Hour)
	for _, c := range []struct {
		name     string
		at       time.Time
		old      []Window
		interval time.Duration
		depth    int
		want     []float64
	}{
		{"twice as long", noon.Add(2 * time.Hour), seconds(7, 10, 20, 30), 2 * time.Hour, 8, []float64{7, 30, 30}},
		{"half as long, the newest half over", noon.Add(30 * time.Minute), seconds(8, 10), 30 * time.Minute, 8, []float64{0, 8, 5, 5}},
		{"half as long, the newest a quarter over", noon.Add(15 * time.Minute), seconds(8, 10), 30 * time.Minute, 8, []float64{8, 5, 5}},
		{"just begun", noon, seconds(8, 10), 24 * time.Hour, 8, []float64{18}},
		{"one and a half", noon.Add(2 * time.Hour), seconds(4, 20), 90 * time.Minute, 8, []float64{14, 10}},
		{"less deep", noon, seconds(8, 10, 12), time.Hour, 2, []float64{8, 10}},
		{"shorter and less deep", noon.Add(time.Hour), seconds(0, 60), 20 * time.Minute, 2, []float64{0, 20}},
		{"of which the deepest are empty", noon, seconds(8, 0, 12), time.Hour, 2, []float64{8}},
	} {
		y := Tally{Key: Key{KindQOS, "high"}, At: c.at, Interval: time.Hour, Windows: c.old}
		got := y.AsOf(c.at, tallied(c.interval, c.depth))
		if !slices.Equal(processorSeconds(got), c.want) || got.Interval != c.interval {
			t.Errorf("%s: %v of %v, want %v", c.name, processorSeconds(got), got.Interval, c.want)
		}
	}
}

// TestChangedWindowsLoseNothing: as long as the new windows reach back as far as
// the old, every thousandth is in one of them.
func TestChangedWindowsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.Custom(func(t *rapid.T) Window {
			u := func(name string) Usage {
				return Usage{rapid.Int64Range(0, math.MaxInt64/64).Draw(t, name), rapid.Int64Range(0, 999).Draw(t, name+"'s rest")}
			}
			return Window{u("dedicated"), u("equivalent"), u("utilized")}
		})
		was := rapid.Int64Range(1, 1e9).Draw(t, "old interval")
		y := Tally{Key: Key{KindClass, "batch"}, At: start.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "at")) * time.Millisecond),
			Interval: time.Duration(was) * time.Millisecond, Windows: rapid.SliceOfN(window, 1, 12).Draw(t, "windows")}
		p := tallied(time.Duration(rapid.Int64Range(was, 1e9).Draw(t, "interval"))*time.Millisecond, MaxDepth)
		sum := func(y Tally) (s Window) {
			for _, w := range y.Windows {
				s = s.plus(w)
			}
			return s
		}
		if got, want := sum(y.AsOf(y.At, p)), sum(y); got != want {
			t.Errorf("windows of %v after those of %d ms hold %+v, want %+v", p.Windows.Interval, was, got, want)
		}
	})
}

// TestUtilized counts CPU time where it is reported.
func TestUtilized(t *testing.T) {
	p := tallied(time.Hour, 3)
	y := Tally{Key: Key{KindUser, "alice"}}.Begin(start, cpus(1), p)
	hours := func(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }
	cpu := func(d time.Duration) Used { return Used{CPU: d, Memory: 5, IO: 5} }
	y = y.Report(cpu(time.Minute), hours(2), p)
	y = y.Report(cpu(1500*time.Microsecond), hours(1), p) // late
	y = y.Report(cpu(1500*time.Microsecond), hours(1), p)
	y = y.Report(cpu(time.Hour), hours(-1), p) // too late
	y = y.Report(cpu(-time.Hour), hours(2), p)
	var got []Usage
	for _, w := range y.Windows {
		got = append(got, w.Utilized)
	}
	if want := []Usage{{Millis: 60000}, {Millis: 3}, {}}; !slices.Equal(got, want) || y.Decayed != (Recent{}) || y.LongTerm != (Recent{}) {
		t.Errorf("utilized = %v, %+v, want %v and nothing decayed", got, y, want)
	}
}

// TestAbsurd: what no honest spool or configuration holds does no harm.
func TestAbsurd(t *testing.T) {
	many := make([]Window, 1000)
	for i := range many {
		many[i].Dedicated.Millis, many[i].Equivalent.Millis = math.MaxInt64, math.MaxInt64
	}
	far := time.Date(200000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, p := range []Params{{}, tallied(-time.Hour, -3), tallied(1, 1000), tallied(math.MaxInt64, 24), tallied(time.Millisecond, 24)} {
		for _, y := range []Tally{{Windows: many}, {At: start, Interval: 7, Windows: []Window{{Dedicated: Usage{-5, -7}, Equivalent: Usage{-7, -5}}, {Utilized: Usage{math.MinInt64, math.MaxInt64}}}}, {Windows: many, Interval: -5, At: start}, {Windows: many, Interval: 1, At: start}, {Windows: many, Interval: math.MaxInt64, At: far, Cpus: math.MaxInt64, PE: math.MaxInt64}} {
			y.Kind = KindUser
			y = y.Begin(start, Credentials{Cpus: math.MaxInt64, PE: math.Inf(1)}, p).End(far, Credentials{Cpus: math.MinInt64, PE: math.NaN()}, p).GiveBack(far, start, Credentials{Cpus: 5, PE: -1}, p).Report(Used{CPU: math.MaxInt64, IO: math.NaN()}, time.Time{}, p)
			if y.Irrelevant(far, p); len(y.Windows) > MaxDepth {
				t.Errorf("%d windows, want at most %d", len(y.Windows), MaxDepth)
			}
		}
	}
}

// TestTalliesAgree holds tallies to the records: begun and ended by whatever
// clock, a user's processor time is the submitter's slot time, equivalents of a
// slot's weight come to its weighted time, and the total is the sum of all, to the
// thousandth of a millisecond.
func TestTalliesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := tallied(1000*day, MaxDepth) // so long that nothing is too old
		type claim struct {
			charge Charge
			from   time.Time
		}
		b, held := newShelf(), []claim{}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			at := start.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "at")) * time.Millisecond)
			if len(held) == 0 || rapid.Bool().Draw(t, "begin") {
				user := rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user")
				w := Weight(rapid.Int64Range(1, 5000).Draw(t, "weight"))
				c := Charge{Submitter: user + "@x", Weight: w, By: Credentials{User: user, Cpus: 1, PE: w.Float()}}
				held = append(held, claim{c, c.Begin(b, at, p)})
				continue
			}
			c := held[0]
			held = held[1:]
			if rapid.Bool().Draw(t, "void") {
				c.charge.GiveBack(b, c.from, at, p)
			} else {
				c.charge.End(b, c.from, at, p)
			}
		}
		end, sum := start.Add(10*day*100), Window{}
		used := func(k Key) (u Window) {
			y, _ := b.Tally(k)
			for _, w := range y.AsOf(end, p).Windows {
				u = u.plus(w)
			}
			return u
		}
		for _, user := range []string{"alice", "bob"} {
			r, _ := b.Submitter(user + "@x")
			r = r.AsOf(end, p)
			want := Window{Dedicated: r.Slots, Equivalent: r.Weighted}
			if got := used(Key{KindUser, user}); got != want {
				t.Errorf("processor time of %s = %+v, want the slot time %+v", user, got, want)
			}
			sum = sum.plus(want)
		}
		if got := used(Key{KindTotal, TotalName}); got != sum {
			t.Errorf("processor time of all = %+v, want the sum %+v", got, sum)
		}
	})
}
