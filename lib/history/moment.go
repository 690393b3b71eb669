package history

import (
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"fairspool/lib/accountant"
)

// Moment is the whole truth of one time, of which blocks have what is new.
type Moment struct {
	Now time.Time
	// Records are those of all submitters and groups.
	Records []accountant.Record
	// Demand is the weight that idle jobs ask for, by submitter. Groups' is the
	// sum of their members'.
	Demand map[string]float64
	Params accountant.Params
	// Past is another text whenever something changed of which the records' last
	// events do not tell, as when an edit is undone or the clock is set.
	Past string
}

// tolerance is how far a clock may be set without Past telling.
const tolerance = time.Second

// named is a sample whose name has no number yet.
type named struct {
	Sample
	name string
}

// Block returns the block to write behind the block last of a file, nil for the
// first one. Names without a number get one.
func (m Moment) Block(last *Block, names *Names) Block {
	b := m.head()
	b.Names = names.ID
	b.All = last == nil || last.Settings != b.Settings || last.Names != b.Names
	var since time.Time
	if !b.All {
		since = last.Time.Add(-tolerance)
	}
	for _, s := range m.samples(since) {
		if s.ID = names.Number(s.name); s.ID > 0 {
			b.Samples = append(b.Samples, s.Sample)
		}
	}
	return b
}

// head returns the block without samples.
func (m Moment) head() Block {
	return Block{
		Time: m.Now.UTC().Truncate(time.Millisecond), HalfLife: max(m.Params.HalfLife.Truncate(time.Millisecond), time.Millisecond),
		Factor: m.Params.DefaultFactor, Settings: m.settings(),
	}
}

// settings returns a checksum of what computed factors and the RUP depend on, beside
// the events since the last block.
func (m Moment) settings() uint32 {
	p := m.Params
	text := fmt.Appendf(nil, "%d %v %v %q %v %q", p.HalfLife, p.DefaultFactor, p.NiceFactor, p.NiceGroup, p.RemoteFactor, p.LocalDomain)
	if !p.Groups.None() {
		for _, g := range p.Groups.List {
			text = fmt.Appendf(text, " %q %v", g.Name, g.Factor)
		}
	}
	text = fmt.Appendf(text, " %q", m.Past)
	return crc32.Checksum(text, castagnoli)
}

// samples returns those of whom there is something new since a time, or of
// everybody if that is zero: who had an event, asks for something, or has another
// factor because a lease ran out.
func (m Moment) samples(since time.Time) []named {
	t := m.totals(since)
	var list []named
	for _, r := range m.Records {
		demand, news := m.Demand[r.Name], m.news(r, since)
		i, group := m.group(r)
		if group {
			demand, news = t[i].demand, news || t[i].news
		}
		if !news && !(demand > 0) {
			continue
		}
		s := m.sample(r, demand)
		if group {
			s.Usage = t[i].use
		}
		list = append(list, s)
	}
	return list
}

// group returns the place of a record that is a group's.
func (m Moment) group(r accountant.Record) (int, bool) {
	if !r.IsGroup() {
		return 0, false
	}
	return m.Params.Groups.Find(r.Name)
}

func (m Moment) news(r accountant.Record, since time.Time) bool {
	lease := r.FactorLease.Until
	// An event of the same millisecond may have come after the sample.
	return since.IsZero() || !r.At.Before(since) || lease.After(since) && !lease.After(m.Now)
}

func (m Moment) sample(r accountant.Record, demand float64) named {
	factor, _ := r.FactorIn(m.Now, m.Params)
	now := r.AsOf(m.Now, m.Params)
	return named{Sample{
		Priority: math.Min(now.Priority, math.MaxFloat64), InUse: max(r.InUse, r.Subtree, 0), Usage: now.Weighted,
		Demand: math.Min(math.Max(demand, 0), math.MaxFloat64), Factor: math.Min(factor, math.MaxFloat64),
	}, r.Name}
}

// total is what a group and all below it come to; the root has nobody below it.
type total struct {
	use    accountant.Usage
	demand float64
	news   bool
}

// totals returns the groups', by their place in the list.
func (m Moment) totals(since time.Time) []total {
	p := m.Params
	if p.Groups.None() {
		return []total{m.ofRoot(since)}
	}
	t := make([]total, len(p.Groups.List))
	for _, r := range m.Records {
		if i, ok := m.group(r); ok {
			t[i].use = r.AsOf(m.Now, p).Weighted
			t[i].news = m.news(r, since)
		} else if d := m.Demand[r.Name]; d > 0 {
			t[p.Groups.Of(r.Name)].demand += d
		}
	}
	for i := len(t) - 1; i > 0; i-- {
		parent := p.Groups.List[i].Parent
		if parent == 0 {
			continue // the root's are its own
		}
		up := &t[parent]
		up.use = up.use.Plus(t[i].use)
		up.demand += t[i].demand
		up.news = up.news || t[i].news
	}
	return t
}

// ofRoot returns the total of a root that is left from when there were groups.
func (m Moment) ofRoot(since time.Time) (t total) {
	for _, r := range m.Records {
		if r.Name == accountant.RootGroup {
			t.use, t.news = r.AsOf(m.Now, m.Params).Weighted, m.news(r, since)
		}
	}
	return t
}
