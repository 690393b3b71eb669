package spool

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool/internal/extracttext"
	"fairspool/spool/internal/summarytext"
)

// SlotSummaries returns what Slots does, summarized and in any order. It reads only the index of slots that have a summary there and of
// which the journal does not speak.
func SlotSummaries(v *View) ([]pool.SlotSummary, []error) {
	hand, taken, bad := v.spool.handWritten()
	list, err := summaries(v.state().slots)
	must(err)
	if len(hand) > 0 {
		list = slices.DeleteFunc(list, func(s pool.SlotSummary) bool { return taken[s.Name] != "" })
	}
	for _, s := range hand {
		list = append(list, pool.SummaryOf(&classad.Context{}, s))
	}
	return list, bad
}

// summaries returns those of advertised slots.
func summaries(b *blocks[string, pool.Slot]) ([]pool.SlotSummary, error) {
	parts, all := make([][]pool.SlotSummary, len(b.base)), 0
	for _, f := range b.base {
		all += f.blocks
	}
	list := make([]pool.SlotSummary, all)
	for i, room := 0, list; i < len(parts); i++ {
		parts[i], room = room[:0:b.base[i].blocks], room[b.base[i].blocks:]
	}
	read, err := b.scan(func(_, segment int, name, summary string) bool {
		n := len(parts[segment])
		to := parts[segment][:n+1]
		ok := summarytext.Read(&to[n], summary)
		if ok {
			to[n].Name, parts[segment] = name, to
		}
		return ok
	})
	all = 0
	for _, part := range parts {
		all += copy(list[all:], part)
	}
	list = list[:all]
	for _, s := range read {
		list = append(list, pool.SummaryOf(&classad.Context{}, *s))
	}
	return list, err
}

// Alike is jobs of the queue that are alike in what totals need: in the attributes pool.Totalled, and in the state of their claim.
type Alike struct {
	summarytext.Alike
	Jobs int
}

// Totals returns the jobs of the queue in any order, given the claims of its jobs by ascending job: of most clusters what is alike, as the
// indexes of segments have it, and the others whole.
func Totals(v *View, claims []pool.ClaimSummary) (list []Alike, others []*Cluster) {
	b := v.state().jobs
	counts := summarytext.NewCounts(parallel.Workers(len(b.base)), len(b.base), claims)
	read, err := b.scan(counts.Add)
	must(err)
	for k, n := range counts.Jobs() {
		if k.Ad = v.shownAd(k.Ad, v.listed); n > 0 && k.Ad != nil {
			list = append(list, Alike{k, n})
		}
	}
	return list, v.shownOf(read)
}

// ClaimSummaries returns what totals need of all claims, by ascending job. Of most it reads the beginning of their rows.
func ClaimSummaries(v *View) []pool.ClaimSummary {
	list, err := claimSummaries(v.state().claims)
	must(err)
	return list
}

// SlotsThat returns the names of the slots whose ads a function accepts, in any order, and how many slots there are. judge makes such a
// function for one goroutine. Of a part it asks once for slots that are alike in what is looked up.
func SlotsThat(v *View, judge func() func(ad *classad.Ad) bool) (names []string, all int) {
	list, taken, _ := v.spool.handWritten()
	accepts, read := judge(), func() ([]*pool.Slot, error) { return v.state().slots.all(newWorker) }
	if p := v.state().part; p != nil && p.slots == v.state().slots && !p.slots.listed {
		read = func() (others []*pool.Slot, err error) {
			names, all, others, err = p.judged(judge, taken)
			return others, err
		}
	}
	advertised, err := read()
	must(err)
	advertised = slices.Clip(advertised)
	for i := range list {
		advertised = append(advertised, &list[i])
	}
	for _, s := range advertised {
		if by := taken[s.Name]; by == "" || by == s.Source {
			if all++; accepts(s.Ad) {
				names = append(names, s.Name)
			}
		}
	}
	return names, all
}

// judged judges slots by extracts, but for those that are taken, and returns the others: those of other segments, of which the journal
// speaks, or that were made already.
func (p *portion) judged(judge func() func(*classad.Ad) bool, taken map[string]string) (names []string, all int, others []*pool.Slot, err error) {
	b := p.slots
	found, counts, read := make([][]string, len(b.base)), make([]int, len(b.base)), make([]bool, len(b.base))
	judges := make([]*extracttext.Judge, parallel.Workers(len(b.base)))
	for i := range judges {
		judges[i] = extracttext.NewJudge(judge(), p.unread, classad.NewInterner())
	}
	pass := func(name []byte) bool {
		_, spoken := b.pending[string(name)]
		_, made := b.made[string(name)]
		return spoken || made || taken[string(name)] != ""
	}
	parallel.Each(len(b.base), func(worker, i int) {
		if lines, ok := extractOf(p, &judges[worker].Buffer, b.files, b.base[i], &p.lackingSlots[i]); ok {
			found[i], counts[i], read[i] = judges[worker].Read(lines, pass)
		}
	})
	for i, n := range counts {
		names, all = append(names, found[i]...), all+n
	}
	shares := slices.DeleteFunc(b.shares(), func(s share[string]) bool { return len(s.fresh) == 0 && read[s.segment] })
	_, err = b.makeShares(newWorker, func(e *entry[string]) bool { i := b.segmentOf(e.key); return i < 0 || !read[i] }, shares)
	for _, s := range b.known() {
		if s != nil {
			others = append(others, s)
		}
	}
	return names, all, others, err
}

// scan hands what the indexes of segments say of things to take, each segment by itself and on all processors, but for what was made
// already or the journal speaks of. It returns these, and what take says is not enough.
func (b *blocks[K, V]) scan(take func(worker, segment int, k K, summary string) bool) ([]*V, error) {
	if b.under != nil || b.listed {
		return b.all(newWorker)
	}
	odd, bad := make([]map[K]bool, len(b.base)), make([]error, len(b.base))
	buffers := make([][]byte, parallel.Workers(len(b.base)))
	parallel.Each(len(b.base), func(worker, i int) {
		bad[i] = b.scanSegment(i, &buffers[worker], func(k K, summary string) {
			_, touched := b.pending[k]
			if touched || b.has(k) || take(worker, i, k, summary) {
				return
			}
			if odd[i] == nil {
				odd[i] = map[K]bool{}
			}
			odd[i][k] = true
		})
	})
	if err := cmp.Or(bad...); err != nil {
		return nil, err
	}
	shares := slices.DeleteFunc(b.shares(), func(s share[K]) bool { return len(s.fresh) == 0 && odd[s.segment] == nil })
	wanted := func(e *entry[K]) bool { i := b.segmentOf(e.key); return i >= 0 && odd[i][e.key] }
	if _, err := b.makeShares(newWorker, wanted, shares); err != nil {
		return nil, err
	}
	list, _ := b.present()
	return list, nil
}

// scanSegment goes through the lines of a segment's index.
func (b *blocks[K, V]) scanSegment(i int, buffer *[]byte, do func(k K, summary string)) error {
	if g := b.open[i]; g != nil && g.entries != nil {
		for n := range g.entries {
			do(g.entries[n].key, g.entries[n].summary)
		}
		return nil
	}
	g, lines, at, err := readLines(b.files, b.dir, b.base[i], buffer)
	if err != nil {
		return err
	}
	left := g.blocks
	for line := range strings.Lines(string(lines[:bytes.LastIndexByte(lines[:len(lines)-1], '\n')+1])) {
		k, summary, err := b.keys.summaryIn(line[:len(line)-1])
		if err != nil {
			return g.damage(b.files, at, 0, "%v", err)
		}
		if left--; left >= 0 {
			do(k, summary)
		}
	}
	if left != 0 {
		return g.damage(b.files, at, 0, "its index does not cover its blocks")
	}
	return nil
}
