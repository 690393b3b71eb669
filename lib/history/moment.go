package history

import (
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"time"

	"fairspool/lib/accountant"
)

// Moment is the whole state at one time. Blocks have the changes.
type Moment struct {
	Now time.Time
	// Records are the records of all submitters and groups.
	Records []accountant.Record
	// Demand is the weight that idle jobs ask for, by submitter. Groups' is the
	// sum of their members'.
	Demand map[string]float64
	Params accountant.Params
	// Past is a text that changes with each change that the records' last events do not show,
	// as when an edit is undone or the pool follows a clock that was set.
	Past string
}

// tolerance is by how much an event that comes after a block may be dated before it.
const tolerance = time.Second

// named is a sample with a name that has no number yet.
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

// settings returns a checksum of all inputs of computed factors and the RUP except the
// events since the last block.
func (m Moment) settings() uint32 {
	p := m.Params
	text := fmt.Appendf(nil, "%d %v %v %q %v %q %q", p.HalfLife, p.DefaultFactor, p.NiceFactor, p.NiceGroup, p.RemoteFactor, p.LocalDomain, p.RemoteDomains)
	if !p.Groups.None() {
		for _, g := range p.Groups.List {
			text = fmt.Appendf(text, " %q %v", g.Name, g.Factor)
		}
	}
	text = fmt.Appendf(text, " %q", m.Past)
	return crc32.Checksum(text, castagnoli)
}

// samples returns the samples of submitters with news since a time, or of all if that is
// zero: submitters that had an event, ask for something, or have another factor because a
// lease ended.
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

// total is the sum of a group and all below it; the root has none below it.
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

// Tier is one density of samples. All times are UTC.
type Tier struct {
	// Name begins the names of its files.
	Name string
	// Every is the length of a bucket, in which there is one block at most. It
	// divides a day.
	Every time.Duration
	// Keep is how many files there are at most that have begun, the current one
	// among them; 0: all of them.
	Keep int
	// period is the layout of a date from which a file's period can be told: a
	// day's or a month's.
	period string
}

const (
	daily   = "2006-01-02"
	monthly = "2006-01"
)

// Tiers returns the tiers, the finest first. The number of files decides which are
// removed, not their age: a clock that is years ahead for one cycle costs one file of
// each tier and not all samples.
func Tiers() []Tier {
	return []Tier{
		{"minute", time.Minute, 2, daily},
		{"minutes10", 10 * time.Minute, 8, daily},
		{"hour", time.Hour, 3, monthly},
		{"hours6", 6 * time.Hour, 13, monthly},
		{"day", 24 * time.Hour, 0, monthly},
	}
}

// File returns the name of the tier's file for a time: the tier's name, a dash
// and the day or month in which the file begins.
func (t Tier) File(at time.Time) string { return t.Name + "-" + at.UTC().Format(t.period) }

// Period returns the time that a file is for, from begin up to but not including
// end, and whether its name is that of a file of the tier.
func (t Tier) Period(file string) (begin, end time.Time, ok bool) {
	date, ok := strings.CutPrefix(file, t.Name+"-")
	if !ok {
		return begin, end, false
	}
	begin, err := time.Parse(t.period, date)
	if err != nil || t.File(begin) != file {
		return begin, end, false
	}
	if t.period == monthly {
		return begin, begin.AddDate(0, 1, 0), true
	}
	return begin, begin.AddDate(0, 0, 1), true
}

// Due reports whether a file with the last block at last, zero for none, is to have one
// of now. A block that is not older than now stays the last: blocks ascend.
func (t Tier) Due(last, now time.Time) bool {
	return last.IsZero() || now.After(last) && !now.Truncate(t.Every).Equal(last.Truncate(t.Every))
}

// Surplus returns the files, all of the tier and ascending, that are to be removed when
// the current one exists: the oldest, and of files for later times, which a wrong clock
// left, all except the first few.
func (t Tier) Surplus(files []string, now time.Time) []string {
	if t.Keep == 0 {
		return nil
	}
	begun := 0
	for begun < len(files) && files[begun] <= t.File(now) {
		begun++
	}
	surplus := append([]string{}, files[:max(begun-t.Keep, 0)]...)
	return append(surplus, files[min(begun+t.Keep, len(files)):]...)
}

// Choose returns the tiers worth reading for points that are at least step apart, the
// finest first. It leaves out a tier if the next one is fine enough.
func Choose(step time.Duration) []Tier {
	tiers := Tiers()
	for len(tiers) > 1 && tiers[1].Every <= step {
		tiers = tiers[1:]
	}
	return tiers
}

// Thin returns at most n of the points, n at least 5: the first and the last; of each of
// equal stretches of time between them the last; and the point of the stretch with the
// most extreme RUP, if that lies outside the range between the stretch's last point and
// the one before. Each point's InUse is the mean since the remaining point before it.
func Thin(points []Point, n int) []Point {
	n = max(n, 5)
	if len(points) <= n {
		return points
	}
	first, last := points[0].Time, points[len(points)-1].Time
	stretches := (n - 1) / 2
	length := last.Sub(first)/time.Duration(stretches) + 1
	thin := make([]Point, 1, n)
	thin[0] = points[0]
	for i := 1; i < len(points); {
		number := points[i].Time.Sub(first) / length
		end := i + 1
		for end < len(points) && points[end].Time.Sub(first)/length == number {
			end++
		}
		if e, ok := extreme(thin[len(thin)-1], points[i:end]); ok {
			thin = append(thin, merged(thin[len(thin)-1].Time, points[i:i+e+1]))
			i += e + 1
		}
		thin = append(thin, merged(thin[len(thin)-1].Time, points[i:end]))
		i = end
	}
	return thin
}

// extreme returns the index of the point that is farthest outside the range between
// before and the last point, and false if none is.
func extreme(before Point, points []Point) (place int, ok bool) {
	end := points[len(points)-1]
	low, high := math.Min(before.Priority, end.Priority), math.Max(before.Priority, end.Priority)
	farthest := 0.0
	for i, p := range points[:len(points)-1] {
		if out := math.Max(low-p.Priority, p.Priority-high); out > farthest {
			place, farthest = i, out
		}
	}
	return place, farthest > 0
}

// merged returns the last of the points, with the mean of the weight in use since a time.
func merged(since time.Time, points []Point) Point {
	p := points[len(points)-1]
	total := p.Time.Sub(since).Seconds()
	used := 0.0
	for _, q := range points {
		used += q.InUse * q.Time.Sub(since).Seconds()
		since = q.Time
	}
	if total > 0 {
		p.InUse = used / total
	}
	return p
}
