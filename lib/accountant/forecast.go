package accountant

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Horizon is how far a forecast looks: what would come later comes never.
const Horizon = 100 * 365 * 24 * time.Hour

// Forecast says when a condition will hold if nothing changes: no claim begins or ends,
// nothing is edited, and leases end at their time.
type Forecast struct {
	Never bool
	At    time.Time // the first millisecond, not before the moment of asking; zero if never
}

// Reaches returns when the EUP, as of now, will be at eup or pass it, from either side.
// An EUP that tends to eup and does not pass it never reaches it, except the least EUP,
// which is reached.
func (r Record) Reaches(eup float64, now time.Time, p Params) Forecast {
	now = now.Truncate(time.Millisecond)
	side := r.Effective(now, p) - eup
	there := func(t time.Time) bool { return (r.Effective(t, p)-eup)*side <= 0 }
	for _, l := range r.legs(now, p) {
		if there(l.from) {
			return Forecast{At: l.from}
		}
		beta := (eup/l.factor - l.tends) / (l.priority - l.tends)
		if !(beta > 0 && beta < 1) || eup/l.factor < MinPriority {
			continue
		}
		if t, ok := l.when(beta); ok {
			// Rounding may have made the moment one too late, or too early.
			t = t.Add(-time.Millisecond)
			for range 3 {
				if !there(t) {
					t = t.Add(time.Millisecond)
				}
			}
			return Forecast{At: t}
		}
	}
	return Forecast{Never: true}
}

// Limit returns the limit of the EUP if nothing changes.
func (r Record) Limit(now time.Time, p Params) float64 {
	legs := r.legs(now.Truncate(time.Millisecond), p)
	last := legs[len(legs)-1]
	return math.Max(last.tends, MinPriority) * last.factor
}

// FactorLeaseEnd returns when a lease on the factor ends that is in force at now:
// the first millisecond without it.
func (r Record) FactorLeaseEnd(now time.Time) (end time.Time, ok bool) {
	if r.FactorLease.Until.IsZero() {
		return time.Time{}, false
	}
	end = r.FactorLease.Until.Add(time.Millisecond - 1).Truncate(time.Millisecond)
	return end, end.After(now)
}

// lastingFactor returns the factor when leases have ended.
func (r Record) lastingFactor(p Params) float64 {
	factor, _ := r.FactorIn(r.FactorLease.Until, p)
	return factor
}

// Best returns the best EUP that lasts, which is MinPriority times the factor when
// leases have ended, and when, asked for at now, the EUP will be there to stay: never
// as long as more than MinPriority is in use. A lease on a low factor may give a better
// one until it ends.
func (r Record) Best(now time.Time, p Params) (eup float64, at Forecast) {
	eup = MinPriority * r.lastingFactor(p)
	if r.held().Float() > MinPriority {
		return eup, Forecast{Never: true} // also if it is there now, and begins to rise
	}
	end, leased := r.FactorLeaseEnd(now)
	r.Factor, r.FactorLease = 1, Lease{} // so that the EUP is the RUP
	at = r.Reaches(MinPriority, now, p)
	if leased && !at.Never && at.At.Before(end) {
		at.At = end
	}
	return eup, at
}

// trifle is how much better, in parts of it, an EUP has to be to count as better:
// less is rounding.
const trifle = 1e-12

// Below returns when the EUP, asked for at now, will be better than other's if
// neither changes.
func (r Record) Below(other Record, now time.Time, p Params) Forecast {
	now = now.Truncate(time.Millisecond)
	better := func(t time.Time) bool { return r.Effective(t, p) < other.Effective(t, p)*(1-trifle) }
	cuts := r.cuts(other, now, p)
	for i, from := range cuts {
		if better(from) {
			return Forecast{At: from}
		}
		// Between two cuts the difference grows or falls all the time, so the
		// last moment before the next one tells.
		if i+1 == len(cuts) {
			break
		}
		to := cuts[i+1].Add(-time.Millisecond)
		if !to.After(from) || !better(to) {
			continue
		}
		for from.Add(time.Millisecond).Before(to) {
			middle := from.Add(to.Sub(from) / 2).Truncate(time.Millisecond)
			if better(middle) {
				to = middle
			} else {
				from = middle
			}
		}
		return Forecast{At: to}
	}
	return Forecast{Never: true}
}

// leg is a time in which the RUP follows one formula and the factor stays.
type leg struct {
	from     time.Time
	lasts    time.Duration // to the next leg's from; Horizon for the last
	priority float64       // at from
	tends    float64       // the limit of the RUP, which may be below MinPriority
	factor   float64
	halfLife time.Duration
}

// legs divides the time from now on. A record with its last event in the future stands
// still until then.
func (r Record) legs(now time.Time, p Params) []leg {
	starts := []time.Time{now}
	if event := r.AsOf(now, p).At; event.After(now) {
		starts = append(starts, event)
	}
	if end, ok := r.FactorLeaseEnd(now); ok {
		starts = append(starts, end)
	}
	slices.SortFunc(starts, time.Time.Compare)
	legs := make([]leg, len(starts))
	for i, from := range starts {
		then := r.AsOf(from, p)
		l := leg{from: from, lasts: Horizon, priority: then.Priority, tends: then.held().Float(), halfLife: then.HalfLife}
		if then.At.After(from) {
			l.tends = l.priority
		}
		if i+1 < len(starts) {
			l.lasts = starts[i+1].Sub(from)
		}
		l.factor, _ = r.FactorIn(from, p)
		legs[i] = l
	}
	return legs
}

// when returns the first millisecond at which the leg's 0.5^(d/h) is beta or
// less, and whether the leg lasts until then.
func (l leg) when(beta float64) (time.Time, bool) {
	ms := math.Ceil(-math.Log2(beta) * float64(l.halfLife) / float64(time.Millisecond))
	if !(ms < float64(l.lasts/time.Millisecond)) {
		return time.Time{}, false
	}
	return l.from.Add(time.Duration(ms) * time.Millisecond), true
}

// bottom returns when the RUP comes to rest at MinPriority within the leg.
func (l leg) bottom() (time.Time, bool) {
	if l.tends >= MinPriority || l.priority <= MinPriority {
		return time.Time{}, false
	}
	return l.when((MinPriority - l.tends) / (l.priority - l.tends))
}

// cuts returns the moments, the first of them now, between which the difference of two
// EUPs only grows or only falls. At the last of them either both are at rest, or no
// further change is visible.
func (r Record) cuts(other Record, now time.Time, p Params) []time.Time {
	mine, theirs := r.legs(now, p), other.legs(now, p)
	var cuts []time.Time
	for _, l := range slices.Concat(mine, theirs) {
		cuts = append(cuts, l.from)
		if t, ok := l.bottom(); ok {
			cuts = append(cuts, t)
		}
	}
	// Forty half-lives leave a trillionth.
	last := slices.MaxFunc(cuts, time.Time.Compare)
	rest := min(40*math.Max(float64(r.halfLifeAt(now, p)), float64(other.halfLifeAt(now, p))), float64(Horizon))
	cuts = append(cuts, last.Add(time.Duration(rest).Truncate(time.Millisecond)))
	slices.SortFunc(cuts, time.Time.Compare)
	cuts = slices.Compact(cuts)
	var turns []time.Time
	for i, from := range cuts[:len(cuts)-1] {
		if t, ok := turn(r.after(from, p), other.after(from, p), cuts[i+1].Sub(from)); ok {
			turns = append(turns, t, t.Add(time.Millisecond))
		}
	}
	cuts = append(cuts, turns...)
	slices.SortFunc(cuts, time.Time.Compare)
	return slices.Compact(cuts)
}

func (r Record) halfLifeAt(t time.Time, p Params) time.Duration { return r.AsOf(t, p).HalfLife }

// after returns the leg that begins or goes on at t.
func (r Record) after(t time.Time, p Params) leg { return r.legs(t, p)[0] }

// turn returns the millisecond in which the difference of two legs turns from growing to
// falling or back. The legs begin at the same time, and neither reaches its bottom on the
// way. With different half-lives there may be one such time, when both change at the same
// pace: pace1·0.5^(d/h1) = pace2·0.5^(d/h2).
func turn(a, b leg, lasts time.Duration) (time.Time, bool) {
	h1, h2 := a.halfLife.Seconds(), b.halfLife.Seconds()
	pace1, pace2 := a.pace(), b.pace()
	d := math.Log2(pace2/pace1) / (1/h2 - 1/h1)
	if h1 == h2 || !(d > 0 && d < lasts.Seconds()) {
		return time.Time{}, false
	}
	return a.from.Add(time.Duration(d * float64(time.Second)).Truncate(time.Millisecond)), true
}

// pace is how fast the EUP changes at the beginning of the leg.
func (l leg) pace() float64 {
	if l.priority <= MinPriority && l.tends <= MinPriority {
		return 0
	}
	return (l.priority - l.tends) * l.factor / l.halfLife.Seconds()
}

// Portion is a submitter's part of a pool in which all submitters want more than there
// is.
type Portion struct {
	Name     string
	EUP      float64
	Now      float64 // by the EUPs as they are: 1/EUP of the sum of these, 0 to 1
	InTheEnd float64 // where it settles when all go on and leases have ended
}

// Portions returns the portions of the submitters with these records, the best EUP first,
// equal ones by name. A RUP follows usage, so a submitter that gets more soon has a worse
// EUP. In the end shares are inverse not to the factors but to their square roots, as
// long as each submitter has half a slot or more: for twice another submitter's share it
// takes a quarter of its factor.
func Portions(records []Record, now time.Time, p Params) []Portion {
	list := make([]Portion, len(records))
	sum, sumInTheEnd := 0.0, 0.0
	for i, r := range records {
		list[i] = Portion{r.Name, r.Effective(now, p), 0, 1 / math.Sqrt(r.lastingFactor(p))}
		sum += 1 / list[i].EUP
		sumInTheEnd += list[i].InTheEnd
	}
	for i := range list {
		list[i].Now = 1 / list[i].EUP / sum
		list[i].InTheEnd /= sumInTheEnd
	}
	slices.SortFunc(list, func(a, b Portion) int {
		return cmp.Or(cmp.Compare(a.EUP, b.EUP), strings.Compare(a.Name, b.Name))
	})
	return list
}
