package negotiator

import (
	"fmt"
	"math"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/plural"
)

// underCeiling reports whether a submitter's ceiling allows it one more slot of a weight.
// In spins a slot may pass the ceiling, but what is left of it has to be as much as
// the lightest slot of the pool.
func (c *cycle) underCeiling(s *submitter, w accountant.Weight) bool {
	if c.cfg.Pie != Spins {
		return fits(w, s.room())
	}
	left := headroom(s.ceiling, c.counted(s))
	return left > 0 && float64(left) >= c.spins.least
}

// counted returns what a submitter's use counts against its share and its ceiling:
// in spins a partitionable slot counts as a whole.
func (c *cycle) counted(s *submitter) float64 {
	if w, ok := c.spins.usage[s]; ok {
		return w.Float()
	}
	return s.usage.Float()
}

// headroom returns what a ceiling leaves: whole weight in use counts, not fractions.
func headroom(ceiling accountant.Limit, used float64) int64 {
	if !ceiling.Set {
		return math.MaxInt32
	}
	return max(0, ceiling.Slots-int64(used))
}

// lastTurn is a submitter's turn in the last spin that it took part in.
type lastTurn struct {
	spin int
	turn *SpinTurn
}

// lastTurn returns the last turn that jobs of w were for, if possible one with a limit: where
// a round of groups is repeated, nothing may be left to divide. nil if there was none.
func (d *diagnosis) lastTurn(s *submitter, w waiter) (last lastTurn) {
	if d.turns == nil {
		d.turns = map[string][]lastTurn{}
		for i := range d.c.plan.Spins {
			spin := &d.c.plan.Spins[i]
			for j := range spin.Turns {
				t := &spin.Turns[j]
				d.turns[t.Name] = append(d.turns[t.Name], lastTurn{spin.Number, t})
			}
		}
	}
	prio := w.runs[0].prio
	for _, t := range d.turns[s.name] {
		p := t.turn.JobPrios
		if (p == nil || p[0] <= prio && prio <= p[1]) && (last.turn == nil || t.turn.Limit > 0) {
			last = t
		}
	}
	return last
}

// spinLimit tells how spins ended for a submitter whose share is too small.
func (d *diagnosis) spinLimit(s *submitter, w waiter) string {
	last := d.lastTurn(s, w)
	switch t := last.turn; {
	case t == nil:
		return ""
	case t.Skipped != "" && t.Limit < d.c.spins.least:
		return fmt.Sprintf("its limit in spin %d is %.4g, less than the %.4g of the lightest slot; ", last.spin, t.Limit, d.c.spins.least)
	default:
		return fmt.Sprintf("its limit in spin %d was %.4g, and it took %.4g; ", last.spin, t.Limit, d.c.counted(s)-t.Usage)
	}
}

// spinCeiling tells what is left of a ceiling that is not used up.
func (d *diagnosis) spinCeiling(s *submitter) string {
	left := headroom(s.ceiling, d.c.counted(s))
	if d.c.cfg.Pie != Spins || left == 0 {
		return ""
	}
	return fmt.Sprintf(", which leaves %d, less than the %.4g of the lightest slot", left, d.c.spins.least)
}

// servedOnce tells of the partitionable slots that jobs of k could have used, had they
// not served one job in this cycle already.
func (d *diagnosis) servedOnce(k *autocluster) string {
	n := 0
	for i := range d.stands {
		if st := &d.stands[i]; st.taken && d.c.slots[st.first].whole != nil && k.verdict(d.c, st.group) == accepts {
			n += st.slots
		}
	}
	if n == 0 {
		return ""
	}
	return plural.Pick(n, "; 1 partitionable slot served one job, and serves no more in a cycle", "; %d partitionable slots served one job each, and serve no more in a cycle")
}

// inWordsOf begins a reason with what HTCondor says.
func inWordsOf(said, reason string) string {
	const limit = "concurrency limit "
	head, rest, _ := strings.Cut(reason, ": ")
	switch {
	case said == "" || head == said:
		return reason
	case head == "no match found" || head == "submitter limit exceeded":
		return said + ": " + rest
	case strings.HasPrefix(said, limit) && strings.HasPrefix(head, limit):
		return said + ": " + strings.TrimPrefix(head, limit) + ", " + rest
	}
	return said + ": " + reason
}
