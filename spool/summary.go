package spool

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
)

// The summary of a slot is what totals need of it, behind its line in the index of a segment:
//
//	I "slot1@node" 0 3010 5407c828 0 - - "node" "Unclaimed" "" 4 0.125 1790000900 0
//
// These are its machine, state and holder, Cpus and LoadAvg (- for none), until when its ad is valid (0: for
// ever), and 1 for a partitionable slot. A line without a summary says that one of these is no constant.

// summaryText returns the summary of a slot, empty if an attribute that it comes from is no constant.
func summaryText(slot *pool.Slot) string {
	for _, name := range pool.Summarized {
		if e, ok := slot.Ad.Lookup(name); ok {
			if _, constant := e.Constant(); !constant {
				return ""
			}
		}
	}
	s := pool.SummaryOf(&classad.Context{}, *slot)
	var b []byte
	for _, text := range []string{s.Machine, s.State, s.Holder} {
		b = append(strconv.AppendQuote(b, text), ' ')
	}
	for _, x := range []float64{s.Cpus, s.Load} {
		if math.IsNaN(x) {
			b = append(b, "- "...)
			continue
		}
		b = append(strconv.AppendFloat(b, x, 'g', -1, 64), ' ')
	}
	b = strconv.AppendInt(b, s.Until, 10)
	if s.Partitionable {
		return string(append(b, " 1"...))
	}
	return string(append(b, " 0"...))
}

// readSummary reads the summary of a slot, and reports whether it is one.
func readSummary(s *pool.SlotSummary, text string) bool {
	for _, to := range [...]*string{&s.Machine, &s.State, &s.Holder} {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil || !strings.HasPrefix(text[len(quoted):], " ") {
			return false
		}
		if *to = quoted[1 : len(quoted)-1]; strings.IndexByte(quoted, '\\') >= 0 {
			*to, err = strconv.Unquote(quoted)
		}
		if text = text[len(quoted)+1:]; err != nil {
			return false
		}
	}
	for _, to := range [...]*float64{&s.Cpus, &s.Load} {
		number, rest, ok := strings.Cut(text, " ")
		if *to = math.NaN(); number != "-" {
			x, err := strconv.ParseFloat(number, 64)
			*to, ok = x, ok && err == nil
		}
		if text = rest; !ok {
			return false
		}
	}
	until, divided, ok := strings.Cut(text, " ")
	n, err := strconv.ParseInt(until, 10, 64)
	s.Until, s.Partitionable = n, divided == "1"
	return ok && err == nil && (divided == "0" || divided == "1")
}

// SlotSummaries returns what Slots does, summarized and in any order. It reads only the index of slots that
// have a summary there and of which the journal does not speak.
func (v *View) SlotSummaries() ([]pool.SlotSummary, []error) {
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
	if b.under != nil {
		list, err := b.all(newWorker)
		return summarized(list), err
	}
	read, err := b.some(newWorker, func(e *entry[string]) bool {
		return !readSummary(new(pool.SlotSummary), e.summary)
	})
	if err != nil {
		return nil, err
	}
	parts := make([][]pool.SlotSummary, len(b.base)+1)
	parts[len(b.base)] = summarized(read)
	parallel.Each(len(b.base), func(_, i int) {
		entries := b.open[i].entries
		parts[i] = make([]pool.SlotSummary, 0, len(entries))
		for n := range entries {
			e := &entries[n]
			if _, gone := b.pending[e.key]; gone || b.has(e.key) {
				continue
			}
			parts[i] = append(parts[i], pool.SlotSummary{Name: e.key})
			readSummary(&parts[i][len(parts[i])-1], e.summary)
		}
	})
	return slices.Concat(parts...), nil
}

func summarized(slots []*pool.Slot) (list []pool.SlotSummary) {
	for _, s := range slots {
		list = append(list, pool.SummaryOf(&classad.Context{}, *s))
	}
	return list
}
