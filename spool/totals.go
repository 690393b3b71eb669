package spool

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool/internal/summarytext"
)

// SlotSummaries returns what Slots does, summarized and in any order. It reads only the index of slots that
// have a summary there and of which the journal does not speak.
func SlotSummaries(v *View) ([]pool.SlotSummary, []error) {
	hand, bad := v.spool.handWritten()
	list, err := summaries(v.state().slots)
	must(err)
	if len(hand) == 0 {
		return list, bad
	}
	taken := make(map[string]bool, len(hand))
	for _, s := range hand {
		taken[s.Name] = true
	}
	list = slices.DeleteFunc(list, func(s pool.SlotSummary) bool { return taken[s.Name] })
	for _, s := range hand {
		if !taken[s.Name] {
			bad = append(bad, duplicate(s, hand))
			continue
		}
		taken[s.Name] = false
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
	room := make([]pool.SlotSummary, all)
	for i, f := range b.base {
		parts[i], room = room[:0:f.blocks], room[f.blocks:]
	}
	read, err := b.scan(func(_, segment int, name, summary string) bool {
		s := pool.SlotSummary{Name: name}
		ok := summarytext.Read(&s, summary)
		if ok {
			parts[segment] = append(parts[segment], s)
		}
		return ok
	})
	for _, s := range read {
		parts = append(parts, []pool.SlotSummary{pool.SummaryOf(&classad.Context{}, *s)})
	}
	return slices.Concat(parts...), err
}

// Alike is jobs of the queue that are alike in what totals need: in the attributes pool.Totalled, and in the
// state of their claim.
type Alike struct {
	Ad    *classad.Ad
	Claim pool.ClaimState // 0: they have none
	Jobs  int
}

// Totals returns the jobs of the queue, given the claims of its jobs, by ascending job: of most clusters what is
// alike, as the indexes of segments have it, and the others whole.
func Totals(v *View, claims []pool.ClaimSummary) (list []Alike, others []*Cluster) {
	b := v.state().jobs
	type summary struct {
		*summarytext.Jobs
		clusters int // that have it
	}
	type cluster struct {
		id int
		of *summary
	}
	parts := make([][]cluster, len(b.base))
	known := make([]map[string]*summary, parallel.Workers(len(b.base)))
	for i := range known {
		known[i] = map[string]*summary{}
	}
	read, err := b.scan(func(worker, segment, id int, text string) bool {
		of := known[worker][text]
		if of == nil {
			of = new(summary)
			of.Jobs, _ = summarytext.ReadJobs(text)
			known[worker][strings.Clone(text)] = of
		}
		if of.Jobs == nil {
			return false
		}
		of.clusters++
		if len(claims) > 0 {
			parts[segment] = append(parts[segment], cluster{id, of})
		}
		return true
	})
	must(err)
	type key struct {
		of    *classad.Ad
		claim pool.ClaimState
	}
	jobs := map[key]int{}
	for _, of := range known {
		for _, of := range of {
			if of.Jobs == nil {
				continue
			}
			for _, t := range of.Stretches {
				jobs[key{of.Ads[t.Ad], 0}] += t.Jobs * of.clusters
			}
		}
	}
	for _, part := range parts {
		for _, c := range part {
			for len(claims) > 0 && claims[0].Job.Cluster < c.id {
				claims = claims[1:]
			}
			for ; len(claims) > 0 && claims[0].Job.Cluster == c.id; claims = claims[1:] {
				if i := c.of.Of(claims[0].Job.Proc); i >= 0 {
					jobs[key{c.of.Ads[i], 0}]--
					jobs[key{c.of.Ads[i], claims[0].State}]++
				}
			}
		}
	}
	for k, n := range jobs {
		if ad := v.shownAd(k.of); n > 0 && ad != nil {
			list = append(list, Alike{ad, k.claim, n})
		}
	}
	return list, v.shownOf(read)
}

// ClaimSummaries returns what totals need of all claims, by ascending job. Of most it reads the beginning of their
// rows.
func ClaimSummaries(v *View) []pool.ClaimSummary {
	list, err := claimSummaries(v.state().claims)
	must(err)
	return list
}

// scan hands what the indexes of segments say of things to take, each segment by itself and on all processors, but
// for what was made already or the journal speaks of. It returns these, and what take says is not enough.
func (b *blocks[K, V]) scan(take func(worker, segment int, k K, summary string) bool) ([]*V, error) {
	if b.under != nil || b.listed {
		return b.all(newWorker)
	}
	odd, bad := make([]map[K]bool, len(b.base)), make([]error, len(b.base))
	buffers := make([][]byte, parallel.Workers(len(b.base)))
	known := len(b.pending)+len(b.made) > 0
	parallel.Each(len(b.base), func(worker, i int) {
		bad[i] = b.scanSegment(i, &buffers[worker], func(k K, summary string) {
			_, touched := b.pending[k]
			if known && (touched || b.has(k)) || take(worker, i, k, summary) {
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
	g, lines, _, err := readLines(b.files, b.dir, b.base[i], buffer)
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(lines[:bytes.LastIndexByte(lines[:len(lines)-1], '\n')+1])) {
		k, summary, err := b.keys.summaryIn(line[:len(line)-1])
		if err != nil {
			return g.damage(b.files, 0, 0, "%v", err)
		}
		do(k, summary)
		n++
	}
	if n != g.blocks {
		return g.damage(b.files, 0, 0, "its index does not cover its blocks")
	}
	return nil
}
