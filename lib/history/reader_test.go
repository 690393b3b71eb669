package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
)

// life is a pool to which things happen, with what was noted of it.
type life struct {
	now     time.Time
	p       accountant.Params
	records []accountant.Record
	demand  map[string]float64
	names   *Names
	text    []byte
	last    *Block
	past    int
	before  []accountant.Record        // as they were before the last thing that happened to each
	set     map[string]bool            // whose usage does not tell what was in use
	truth   map[string]map[int64]Point // by name and millisecond, at all blocks
}

func newLife(n int, groups *accountant.Groups) *life {
	l := &life{
		now: begin, p: accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1000, Groups: groups},
		demand: map[string]float64{}, names: NewNames(7), truth: map[string]map[int64]Point{}, set: map[string]bool{},
	}
	for i := range n {
		l.records = append(l.records, accountant.Record{Name: fmt.Sprintf("user%d@pool", i)}.Settle(l.now, l.p))
	}
	return l
}

func (l *life) moment() Moment {
	return Moment{Now: l.now, Records: l.records, Demand: l.demand, Params: l.p, Past: fmt.Sprint(l.past)}
}

// note writes a block, and the truth aside.
func (l *life) note() Block {
	b := l.moment().Block(l.last, l.names)
	l.text = b.Append(l.text)
	l.last = &b
	for _, r := range l.records {
		if l.truth[r.Name] == nil {
			l.truth[r.Name] = map[int64]Point{}
		}
		a := r.AsOf(l.now, l.p)
		l.truth[r.Name][l.now.UnixMilli()] = Point{
			Priority: a.Priority, Effective: r.Effective(l.now, l.p), Usage: a.Weighted.Seconds(), Demand: l.demand[r.Name],
		}
	}
	return b
}

func (l *life) read(t interface{ Fatal(...any) }, since time.Time, points int) []Series {
	return l.reader(t, since, l.now, points).Series()
}

func (l *life) reader(t interface{ Fatal(...any) }, since, until time.Time, points int) *Reader {
	r := NewReader(since, until, points, nil)
	r.SetNames(l.names)
	s, err := Scan(strings.NewReader(string(l.text)), func(b *Block) error {
		if n := r.Add(b); n > 0 {
			t.Fatal(n, "samples without a name")
		}
		return nil
	})
	if err != nil || len(s.Damaged) > 0 {
		t.Fatal(err, s)
	}
	return r
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}

// happen lets something happen to a record, or to all.
func (l *life) happen(t *rapid.T, i int) {
	r := l.records[i]
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0, 1:
		r = r.Start(l.now, accountant.Weight(rapid.Int64Range(1, 5000).Draw(t, "weight")), l.p)
	case 2:
		r = r.End(l.now, r.InUse, l.p)
	case 3:
		l.demand[r.Name] = float64(rapid.IntRange(0, 3).Draw(t, "demand"))
	case 4:
		r = r.ResetUsage(l.now, l.p)
		l.set[r.Name] = true
	case 5:
		r = r.Settle(l.now, l.p)
		r.Factor, r.FactorLease = 5, accountant.Lease{Until: l.now.Add(time.Hour)}
	case 6:
		l.p.DefaultFactor++
	case 7: // set by hand
		r = r.Settle(l.now, l.p)
		r.Priority = rapid.Float64Range(0.5, 1e6).Draw(t, "RUP")
		l.set[r.Name] = true
	case 8:
		r = r.Settle(l.now, l.p)
		r.Weighted = accountant.Usage{Millis: rapid.Int64Range(0, 1e12).Draw(t, "usage")}
		l.set[r.Name] = true
	case 9: // a cycle settles all then
		l.p.HalfLife = time.Duration(rapid.Int64Range(1e6, 1e9).Draw(t, "half-life")) * time.Millisecond
		for j := range l.records {
			l.records[j] = l.records[j].Settle(l.now, l.p)
			// What may have been used meanwhile is guessed by one half-life.
			l.set[l.records[j].Name] = true
		}
		r = l.records[i]
	case 10: // undone
		if r = l.before[i]; r.HalfLife != l.p.HalfLife {
			r = r.Settle(l.now, l.p) // by the cycle
		}
		l.set[r.Name] = true
		l.past++
	default:
		if l.now.After(l.last.Time.Add(time.Millisecond)) {
			l.note()
		}
	}
	l.before[i], l.records[i] = l.records[i], r
}

// TestExact holds that what is read is the accountant's own answer at every
// point, whatever happens between blocks and however few samples speak of a
// submitter, and that the mean in use times its time is the usage.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(rapid.IntRange(1, 4).Draw(t, "users"), nil)
		l.note()
		l.before = slices.Clone(l.records)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			l.now = l.now.Add(time.Duration(rapid.Int64Range(1, 1e8).Draw(t, "ms")) * time.Millisecond)
			l.happen(t, rapid.IntRange(0, len(l.records)-1).Draw(t, "who"))
		}
		l.now = later(l.now, l.last.Time).Add(time.Minute)
		l.note()
		since := rapid.SampledFrom([]time.Time{{}, begin, begin.Add(12 * time.Hour)}).Draw(t, "since")
		for _, s := range l.read(t, since, 0) {
			used := 0.0
			for i, p := range s.Points {
				want, ok := l.truth[s.Name][p.Time.UnixMilli()]
				if !ok || !near(p.Priority, want.Priority) || !near(p.Effective, want.Effective) || !near(p.Usage, want.Usage) || p.Demand != want.Demand {
					t.Fatalf("%s at %v: %+v, want %+v", s.Name, p.Time, p, want)
				}
				if i > 0 {
					used += p.InUse * p.Time.Sub(s.Points[i-1].Time).Seconds()
				}
			}
			first, last := s.Points[0], s.Points[len(s.Points)-1]
			if !last.Time.Equal(l.now.Truncate(time.Millisecond)) {
				t.Fatalf("%s ends at %v, want %v", s.Name, last.Time, l.now)
			}
			if total := last.Usage - first.Usage; !l.set[s.Name] && math.Abs(used-total) > 1e-6*math.Max(1, total) {
				t.Fatalf("%s: mean in use by time is %v, usage %v", s.Name, used, total)
			}
		}
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// TestFewLines holds that a block costs what is new, not what there is.
func TestFewLines(t *testing.T) {
	l := newLife(10000, nil)
	l.now = l.now.Add(2 * time.Second)
	if n := len(l.note().Samples); n != 10000 {
		t.Errorf("the first block has %d samples, want all 10000", n)
	}
	l.now = l.now.Add(time.Minute)
	for i := range 50 {
		l.records[i*7] = l.records[i*7].Start(l.now.Add(-2*time.Second), accountant.One, l.p)
	}
	if n := len(l.note().Samples); n != 50 {
		t.Errorf("a block with news of 50 has %d samples", n)
	}
	l.now = l.now.Add(time.Minute)
	l.demand["user3@pool"] = 1
	if n := len(l.note().Samples); n != 1 {
		t.Errorf("a block with demand of 1 has %d samples", n)
	}
}

// TestCurve holds that the RUP of somebody who does nothing is drawn as the curve
// that it is, with a bounded number of points.
func TestCurve(t *testing.T) {
	l := newLife(2, nil)
	l.records[0].Priority = 1e6
	l.demand["user1@pool"] = 2
	for range 30 * 24 {
		l.note()
		delete(l.demand, "user1@pool")
		l.now = l.now.Add(time.Hour)
	}
	l.now = l.now.Add(-time.Hour)
	list := l.read(t, time.Time{}, 0)
	points := list[0].Points
	if n := len(points); n < 100 || n > 700 {
		t.Errorf("%d points of a RUP that decays for 30 days, want some hundred", n)
	}
	for i := range points[1:] {
		if a, b := points[i], points[i+1]; b.Priority < a.Priority*0.9 {
			t.Errorf("from %v to %v the RUP falls from %v to %v without a point between", a.Time, b.Time, a.Priority, b.Priority)
		}
	}
	// The other asked once: the point behind says that it no longer did.
	got := list[1].Points
	if len(got) != 3 || got[0].Demand != 2 || got[1].Demand != 0 || !got[1].Time.Equal(begin.Add(time.Hour)) {
		t.Errorf("%+v, want a demand of 2, one of 0 an hour later, and the end", got)
	}
}

// TestSetUsage holds that usage set by hand is not taken for use.
func TestSetUsage(t *testing.T) {
	l := newLife(1, nil)
	l.records[0] = l.records[0].Start(l.now, 3*accountant.One, l.p)
	for i := range 6 {
		l.now = l.now.Add(time.Hour)
		switch i {
		case 2:
			l.records[0] = l.records[0].Settle(l.now, l.p)
			l.records[0].Weighted = accountant.Usage{Millis: 1e15}
		case 4:
			l.records[0] = l.records[0].ResetUsage(l.now.Add(-time.Minute), l.p)
		}
		l.note()
	}
	for _, p := range l.read(t, time.Time{}, 0)[0].Points {
		if p.InUse != 3 {
			t.Errorf("in use until %v: %v, want 3", p.Time, p.InUse)
		}
	}
}

// TestLast holds that usage goes on behind the last sample as it was, and that nothing is said of
// a submitter that has gone.
func TestLast(t *testing.T) {
	l := newLife(2, nil)
	l.records[0] = l.records[0].Start(l.now, 3*accountant.One, l.p)
	l.note()
	l.now = l.now.Add(90 * time.Second)
	until := l.now
	l.now = l.now.Add(time.Hour)
	l.records[0] = l.records[0].End(l.now, 3*accountant.One, l.p)
	l.note()
	if got := l.reader(t, begin, until, 0).Last(); len(got) != 2 || got["user0@pool"].Usage.Seconds() != 270 || got["user1@pool"].Usage.Seconds() != 0 {
		t.Errorf("after 90 seconds Last = %v, want 270 of user0 and 0 of user1", got)
	}
	l.records, l.last = l.records[1:], nil
	l.now = l.now.Add(time.Hour)
	l.note()
	if got := l.reader(t, begin, l.now, 0).Last(); len(got) != 1 {
		t.Errorf("after user0 has gone Last = %v, want that of user1", got)
	}
}

// TestGone holds that nothing is drawn of somebody who was deleted once a block
// of all says so.
func TestGone(t *testing.T) {
	l := newLife(2, nil)
	l.note()
	l.records = l.records[:1]
	for range 5 {
		l.now = l.now.Add(time.Hour)
		l.last = nil
		l.note()
	}
	if list := l.read(t, time.Time{}, 0); len(list) != 2 || len(list[1].Points) != 1 || len(list[0].Points) != 6 {
		t.Errorf("%+v, want 6 points of the one who stayed and 1 of the other", list)
	}
}

// TestGroups holds that a group's usage, use and demand are those of the group
// and all below, the root's its own.
func TestGroups(t *testing.T) {
	groups, err := accountant.NewGroups([]accountant.Group{{Name: "a"}, {Name: "a.b"}})
	if err != nil {
		t.Fatal(err)
	}
	l := newLife(0, groups)
	for _, r := range []accountant.Record{
		{Name: "<none>", InUse: 1000, ResourcesUsed: 1, Subtree: 1000}, {Name: "a", InUse: 1000, ResourcesUsed: 1, Subtree: 3000},
		{Name: "a.b", InUse: 2000, ResourcesUsed: 1, Subtree: 2000}, {Name: "a.b.x@pool"}, {Name: "a.y@pool"}, {Name: "z@pool"},
	} {
		l.records = append(l.records, r.Settle(l.now, l.p))
	}
	l.demand = map[string]float64{"a.b.x@pool": 5, "a.y@pool": 7, "z@pool": 11}
	l.note()
	l.now = l.now.Add(100 * time.Second)
	l.note()
	for _, s := range l.read(t, time.Time{}, 0) {
		want := map[string]Point{"<none>": {InUse: 1, Demand: 11}, "a": {InUse: 3, Demand: 12}, "a.b": {InUse: 2, Demand: 5}}
		w, group := want[s.Name]
		if p := s.Points[1]; group && (p.InUse != w.InUse || p.Usage != 100*w.InUse || p.Demand != w.Demand) {
			t.Errorf("%s: %+v, want in use %v, usage %v, demand %v", s.Name, p, w.InUse, 100*w.InUse, w.Demand)
		}
	}
}

// TestPresent holds that the series end with the present, which repeats the
// demand that the last block told.
func TestPresent(t *testing.T) {
	l := newLife(2, nil)
	l.demand["user0@pool"] = 2
	l.note()
	r := NewReader(begin, begin.Add(time.Hour), 0, func(name string) bool { return name == "user0@pool" })
	r.SetNames(l.names)
	r.Add(l.last)
	l.now = begin.Add(time.Hour)
	l.records[0] = l.records[0].Start(begin.Add(30*time.Minute), 4*accountant.One, l.p)
	r.Present(l.moment())
	list := r.Series()
	if len(list) != 1 || len(list[0].Points) != 2 {
		t.Fatalf("%+v, want two points of user0@pool", list)
	}
	if p := list[0].Points[1]; !p.Time.Equal(l.now.Truncate(time.Millisecond)) || p.InUse != 2 || p.Demand != 2 {
		t.Errorf("the present is %+v, want a mean of 2 in use, and a demand of 2", p)
	}
}

// TestThin holds that thinning keeps ends, means and extremes, and its promise
// about how many points there are.
func TestThin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, used := begin, 0.0
		points := []Point{{Time: now, Priority: 1}}
		for range rapid.IntRange(0, 200).Draw(t, "points") {
			d := time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "ms")) * time.Millisecond
			p := Point{Time: now.Add(d), Priority: rapid.Float64Range(0.5, 100).Draw(t, "RUP"), InUse: float64(rapid.IntRange(0, 9).Draw(t, "use"))}
			now, used = p.Time, used+p.InUse*d.Seconds()
			points = append(points, p)
		}
		n := rapid.IntRange(5, 60).Draw(t, "n")
		thin := Thin(points, n)
		if len(thin) > n || len(thin) < min(len(points), 2) {
			t.Fatalf("Thin of %d points to %d = %d", len(points), n, len(thin))
		}
		if first, last := thin[0].Time, thin[len(thin)-1].Time; first != points[0].Time || last != now {
			t.Fatalf("Thin goes from %v to %v, want %v to %v", first, last, points[0].Time, now)
		}
		sum := 0.0
		for i := range thin[1:] {
			d := thin[i+1].Time.Sub(thin[i].Time)
			if d <= 0 {
				t.Fatalf("Thin has %v behind %v", thin[i+1].Time, thin[i].Time)
			}
			sum += thin[i+1].InUse * d.Seconds()
		}
		if !near(sum, used) {
			t.Fatalf("Thin: in use by time is %v, want %v", sum, used)
		}
	})
	spike := make([]Point, 1000)
	for i := range spike {
		spike[i] = Point{Time: begin.Add(time.Duration(i) * time.Minute), Priority: 1}
	}
	spike[345].Priority = 50
	for _, p := range Thin(spike, 20) {
		if p.Priority == 50 {
			return
		}
	}
	t.Error("Thin lost the spike")
}
