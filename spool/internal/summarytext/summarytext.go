// Package summarytext writes and reads summaries of slots, clusters and claims. That of a slot is what totals need
// of it, behind its line in the index of a segment:
//
//	I "slot1@node" 0 3010 5407c828 0 - - "node" "Unclaimed" "" 4 0.125 1790000900 0
//
// These are its machine, state and holder, Cpus and LoadAvg (- for none), until when its ad is valid (0: for
// ever), and 1 for a partitionable slot. A line without a summary says that one of these is no constant.
package summarytext

import (
	"math"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Of returns the summary of a slot, empty if an attribute that it comes from is no constant.
func Of(slot *pool.Slot) string {
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

// Read reads the summary of a slot, and reports whether it is one.
func Read(s *pool.SlotSummary, text string) bool {
	ok := true
	for _, to := range [...]*string{&s.Machine, &s.State, &s.Holder} {
		if *to, text, ok = quoted(text); !ok || !strings.HasPrefix(text, " ") {
			return false
		}
		text = text[1:]
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

// quoted reads a quoted text, and returns what follows it.
func quoted(text string) (s, rest string, ok bool) {
	if s, rest, ok = Plain(text); ok {
		return s, rest, true
	}
	long, err := strconv.QuotedPrefix(text)
	if err == nil {
		s, err = strconv.Unquote(long)
	}
	return s, text[len(long):], err == nil
}
