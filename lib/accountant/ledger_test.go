package accountant

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shelf is a Book in memory.
type shelf struct {
	records map[string]Record
	tallies map[Key]Tally
}

func newShelf() *shelf { return &shelf{map[string]Record{}, map[Key]Tally{}} }

func (s *shelf) Submitter(name string) (Record, bool) {
	r, ok := s.records[name]
	r.Name = name
	return r, ok
}

func (s *shelf) PutSubmitter(r Record) { s.records[r.Name] = r }

func (s *shelf) Tally(k Key) (Tally, bool) {
	y, ok := s.tallies[k]
	y.Key = k
	return y, ok
}

func (s *shelf) PutTally(y Tally) { s.tallies[y.Key] = y }

func (s *shelf) list() []Record {
	var all []Record
	for _, name := range slices.Sorted(maps.Keys(s.records)) {
		all = append(all, s.records[name])
	}
	return all
}

// settle advances everybody to the last event of all, which it returns.
func (s *shelf) settle(p Params) (at time.Time) {
	for _, r := range s.records {
		if r.At.After(at) {
			at = r.At
		}
	}
	for name, r := range s.records {
		s.records[name] = r.Settle(at, p)
	}
	return at
}

// ongoing is a charge that goes on, and since when.
type ongoing struct {
	Charge
	from time.Time
}

// crowd is a pool's submitters with their claims, drawn at random.
type crowd struct {
	*shelf
	p     Params
	now   time.Time
	going []ongoing
	// sum is the slot time charged to each submitter, reckoned by hand.
	slots, weighted map[string]int64 // milliseconds, weight-milliseconds
}

var members = []string{"alice@d", "a.alice@d", "a.b.bob@d", "a.b.carol@d", "A.B.C.dave@d", "z.eve@d", "b.eve@d"}

func newCrowd(t *testing.T) *crowd {
	p := plain
	p.Groups = tree(t, named("a", "a.b", "a.b.c", "b")...)
	return &crowd{newShelf(), p, start, nil, map[string]int64{}, map[string]int64{}}
}

// event begins, ends or gives back a charge after some time, which may be less
// than none where back is allowed.
func (c *crowd) event(t *rapid.T, back bool) {
	least := int64(0)
	if back {
		least = -day.Milliseconds()
	}
	c.now = c.now.Add(time.Duration(rapid.Int64Range(least, 2*day.Milliseconds()).Draw(t, "gap")) * time.Millisecond)
	what := rapid.IntRange(0, 3).Draw(t, "what")
	if what <= 1 || len(c.going) == 0 {
		one := Charge{Submitter: rapid.SampledFrom(members).Draw(t, "who"), Weight: Weight(rapid.Int64Range(0, 9000).Draw(t, "weight"))}
		c.going = append(c.going, ongoing{one, one.Begin(c, c.now, c.p)})
		return
	}
	i := rapid.IntRange(0, len(c.going)-1).Draw(t, "which")
	one := c.going[i]
	c.going = slices.Delete(c.going, i, i+1)
	if what == 2 {
		one.GiveBack(c, one.from, c.now, c.p)
		return
	}
	one.End(c, one.from, c.now, c.p)
	if to := c.now.Truncate(time.Millisecond); to.After(one.from) {
		c.count(one, to) // however late the submitter's last event was
	}
}

// count adds a charge that ended at the time to.
func (c *crowd) count(one ongoing, to time.Time) {
	c.slots[one.Submitter] += to.Sub(one.from).Milliseconds()
	c.weighted[one.Submitter] += to.Sub(one.from).Milliseconds() * int64(one.Weight)
}

// whole returns a usage in thousandths of weight-milliseconds.
func whole(u Usage) int64 { return u.Millis*1000 + u.Rest }

// TestUsageAddsUp holds that whatever is begun, ended and given back, and in
// whatever order the clock has it, every submitter is charged its slot time, no
// thousandth more or less, and every group what its own members are.
func TestUsageAddsUp(t *testing.T) {
	for _, back := range []bool{false, true} {
		t.Run(map[bool]string{false: "clock goes on", true: "clock goes back"}[back], func(outer *testing.T) {
			rapid.Check(outer, func(t *rapid.T) {
				c := newCrowd(outer)
				for range rapid.IntRange(1, 40).Draw(t, "events") {
					c.event(t, back)
				}
				at := c.settle(c.p)
				for _, one := range c.going {
					c.count(one, at)
				}
				slots, weighted := map[string]int64{}, map[string]int64{}
				for _, r := range c.list() {
					if r.IsGroup() {
						continue
					}
					if whole(r.Slots) != c.slots[r.Name]*1000 || whole(r.Weighted) != c.weighted[r.Name] {
						t.Fatalf("%s: usage %v and %v, want %d ms and %d weighted", r.Name, r.Slots, r.Weighted, c.slots[r.Name], c.weighted[r.Name])
					}
					group := c.p.Groups.NameOf(r.Name)
					slots[group] += whole(r.Slots)
					weighted[group] += whole(r.Weighted)
				}
				for _, r := range c.list() {
					if r.IsGroup() && (whole(r.Slots) != slots[r.Name] || whole(r.Weighted) != weighted[r.Name]) {
						t.Fatalf("%s: usage %v and %v, want its members' %d and %d", r.Name, r.Slots, r.Weighted, slots[r.Name], weighted[r.Name])
					}
				}
			})
		})
	}
}

// sums returns what the groups' records have to say, by going through all claims.
func (c *crowd) sums() (slots map[string]int, own, within map[string]Weight) {
	slots, own, within = map[string]int{}, map[string]Weight{}, map[string]Weight{}
	for _, one := range c.going {
		at := c.p.Groups.Of(one.Submitter)
		slots[c.p.Groups.List[at].Name]++
		own[c.p.Groups.List[at].Name] += one.Weight
		within[c.p.Groups.List[at].Name] += one.Weight
		for at = c.p.Groups.List[at].Parent; at > 0; at = c.p.Groups.List[at].Parent {
			within[c.p.Groups.List[at].Name] += one.Weight
		}
	}
	return slots, own, within
}

func (c *crowd) check(t *rapid.T) {
	slots, own, within := c.sums()
	for _, r := range c.list() {
		if r.IsGroup() && (r.ResourcesUsed != slots[r.Name] || r.InUse != own[r.Name] || r.Subtree != within[r.Name]) {
			t.Fatalf("%s: %d slots, %v in use, %v with those below, want %d, %v, %v",
				r.Name, r.ResourcesUsed, r.InUse, r.Subtree, slots[r.Name], own[r.Name], within[r.Name])
		}
	}
}

func TestSubtrees(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCrowd(t)
		for range rapid.IntRange(1, 40).Draw(r, "events") {
			c.event(r, true)
			c.check(r)
		}
	})
}

// TestRegroup holds that wrong records of groups are corrected, that right ones stay, and
// that usage so far keeps its owner.
func TestRegroup(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCrowd(t)
		ungrouped := c.p
		ungrouped.Groups = nil
		for range rapid.IntRange(1, 20).Draw(r, "events") {
			grouped := c.p
			if rapid.Bool().Draw(r, "without groups") {
				c.p = ungrouped
			}
			c.event(r, false)
			c.p = grouped
		}
		for _, name := range []string{RootGroup, "a", "a.b", "gone"} {
			if rapid.Bool().Draw(r, "wrong") {
				g, _ := c.Submitter(name)
				g.InUse, g.Subtree, g.ResourcesUsed = Weight(rapid.Int64Range(0, 5000).Draw(r, "own")), 7, 3
				c.PutSubmitter(g)
			}
		}
		before := maps.Clone(c.records)
		for _, g := range Regroup(c.list(), c.now, c.p) {
			if !g.IsGroup() {
				r.Fatalf("Regroup changes the submitter %s", g.Name)
			}
			if was := before[g.Name].AsOf(c.now, c.p); g.Weighted != was.Weighted || g.Priority != was.Priority {
				r.Fatalf("%s: %+v after Regroup, want usage and RUP of %+v", g.Name, g, was)
			}
			c.PutSubmitter(g)
		}
		c.check(r)
		for _, one := range c.p.Groups.List {
			if g, ok := c.Submitter(one.Name); !ok || g.At.IsZero() {
				r.Fatalf("Regroup leaves %s without a record", one.Name)
			}
		}
		if again := Regroup(c.list(), c.now.Add(time.Hour), c.p); len(again) > 0 {
			r.Fatalf("Regroup of what is right changes %+v", again)
		}
		if g, ok := c.Submitter("gone"); ok && (g.held() != 0 || g.ResourcesUsed != 0) {
			r.Fatalf("a group that is no longer configured uses %v", g.held())
		}
	})
}

func TestRegroupWithoutGroups(t *testing.T) {
	r := Record{Name: "a@d"}.Start(start, One, plain)
	if got := Regroup([]Record{r}, start, plain); len(got) != 0 {
		t.Errorf("without groups Regroup makes %+v", got)
	}
	old := Record{Name: "a", At: start, HalfLife: day, ResourcesUsed: 1, InUse: One, Subtree: One, Priority: 4}
	later := start.Add(day)
	got := Regroup([]Record{r, old}, later, plain)
	if len(got) != 1 || got[0].held() != 0 || got[0].Priority != 2.5 || got[0].Weighted.Seconds() != day.Seconds() {
		t.Errorf("Regroup of a group that is gone = %+v, want it charged until then and no more", got)
	}
}

// TestGroupCuts is TestCuts for a group: its RUP follows what it and those below
// use, however often anybody looks.
func TestGroupCuts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		plainly, looked := newCrowd(t), newCrowd(t)
		for range rapid.IntRange(1, 20).Draw(r, "events") {
			name := rapid.SampledFrom(members).Draw(r, "who")
			w := Weight(rapid.Int64Range(0, 9000).Draw(r, "weight"))
			gap := time.Duration(rapid.Int64Range(0, 2*day.Milliseconds()).Draw(r, "gap")) * time.Millisecond
			for range rapid.IntRange(0, 3).Draw(r, "looks") {
				look := looked.now.Add(time.Duration(rapid.Float64Range(0, 1).Draw(r, "moment") * float64(gap)))
				for _, g := range looked.list() {
					looked.PutSubmitter(g.Settle(look, looked.p))
				}
			}
			for _, c := range []*crowd{plainly, looked} {
				c.now = c.now.Add(gap)
				Charge{Submitter: name, Weight: w}.Begin(c, c.now, c.p)
			}
		}
		at := plainly.now.Add(day)
		for name, g := range plainly.records {
			want, got := g.AsOf(at, plainly.p), looked.records[name].AsOf(at, looked.p)
			if math.Abs(got.Priority-want.Priority) > 1e-9*want.Priority || got.Weighted != want.Weighted {
				r.Fatalf("%s: RUP %v and usage %v when looked at in between, want %v and %v", name, got.Priority, got.Weighted, want.Priority, want.Weighted)
			}
		}
	})
}

// TestGroupGiveBack holds that a match that never started leaves no trace in its
// groups either, whatever the clock did.
func TestGroupGiveBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCrowd(t)
		for _, name := range []string{RootGroup, "a", "a.b", "a.b.carol@d"} {
			c.PutSubmitter(Record{Name: name, Priority: 100, At: c.now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(r, "at")) * time.Hour), HalfLife: day})
		}
		before := maps.Clone(c.records)
		one := Charge{Submitter: "a.b.carol@d", Weight: Weight(rapid.Int64Range(0, 9000).Draw(r, "weight"))}
		from := one.Begin(c, c.now, c.p)
		one.GiveBack(c, from, c.now.Add(time.Duration(rapid.IntRange(-3, 9).Draw(r, "after"))*time.Hour), c.p)
		for name, got := range c.records {
			want := before[name].AsOf(got.At, c.p)
			if math.Abs(got.Priority-want.Priority) > 1e-9*want.Priority || got.Weighted != want.Weighted || got.Slots != want.Slots || got.Subtree != 0 || got.InUse != 0 {
				r.Fatalf("after a match given back %+v, want %+v", got, want)
			}
		}
	})
}

// TestSteadyState holds that a weight held for long becomes the RUP; a group's includes
// all groups below it, the root group's only its own.
func TestSteadyState(t *testing.T) {
	c := newCrowd(t)
	for i, name := range []string{"a.alice@d", "a.b.bob@d", "a.b.bob@d", "alice@d"} {
		Charge{Submitter: name, Weight: Weight(i+1) * One}.Begin(c, start, c.p)
	}
	for name, want := range map[string]float64{"a.alice@d": 1, "a.b.bob@d": 5, "alice@d": 4, "a.b": 5, "a": 6, RootGroup: 4} {
		if got := c.records[name].AsOf(start.Add(60*day), c.p).Priority; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: RUP %v after 60 half-lives, want %v", name, got, want)
		}
	}
}
