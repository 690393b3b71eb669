package accountant

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// Usage is usage over time, in whole weight-milliseconds, with the remaining thousandths
// kept separately.
type Usage struct {
	Millis int64 // weight-milliseconds
	Rest   int64 // thousandths of one, 0 to 999
}

// Add returns the usage after weight w was in use for d more. It saturates
// at the largest Usage instead of overflowing, and d below zero adds nothing.
func (u Usage) Add(w Weight, d time.Duration) Usage {
	ms := d.Milliseconds()
	if ms <= 0 || w <= 0 {
		return u
	}
	hi, lo := bits.Mul64(uint64(w), uint64(ms))
	lo, carry := bits.Add64(lo, uint64(u.Rest), 0)
	hi += carry
	if hi >= uint64(One) {
		return Usage{Millis: math.MaxInt64}
	}
	whole, rest := bits.Div64(hi, lo, uint64(One))
	if whole > uint64(math.MaxInt64-u.Millis) {
		return Usage{Millis: math.MaxInt64}
	}
	return Usage{Millis: u.Millis + int64(whole), Rest: int64(rest)}
}

// Take returns the usage less weight w over d, at least none: the inverse of
// Add for a match that never started.
func (u Usage) Take(w Weight, d time.Duration) Usage { return u.minus(Usage{}.Add(w, d)) }

// Plus returns the sum, at most the largest Usage.
func (u Usage) Plus(x Usage) Usage {
	millis, rest := x.Millis, u.Rest+x.Rest
	if rest >= int64(One) {
		millis, rest = millis+1, rest-int64(One)
	}
	if millis < 0 || u.Millis > math.MaxInt64-millis {
		return Usage{Millis: math.MaxInt64}
	}
	return Usage{u.Millis + millis, rest}
}

// minus returns the difference, at least none.
func (u Usage) minus(v Usage) Usage {
	millis, rest := u.Millis-v.Millis, u.Rest-v.Rest
	if rest < 0 {
		millis, rest = millis-1, rest+int64(One)
	}
	if millis < 0 {
		return Usage{}
	}
	return Usage{millis, rest}
}

// shifted returns the usage after a contribution changed from from to to, at least 0.
func (u Usage) shifted(from, to Usage) Usage {
	if up := to.minus(from); up != (Usage{}) {
		return u.Plus(up)
	}
	return u.minus(from.minus(to))
}

// part returns what falls to lo to hi of a whole that is of length of, which is
// above zero: parts that make up the whole sum up to u. The thousandths go to the
// last.
func (u Usage) part(lo, hi, of int64) Usage {
	p := Usage{Millis: u.upTo(hi, of) - u.upTo(lo, of)}
	if hi == of {
		p.Rest = u.Rest
	}
	return p
}

func (u Usage) upTo(n, of int64) int64 {
	high, low := bits.Mul64(uint64(max(u.Millis, 0)), uint64(n))
	whole, _ := bits.Div64(high, low, uint64(of)) // n is at most of: it fits
	return int64(whole)
}

// Seconds returns the usage in weight-seconds.
func (u Usage) Seconds() float64 {
	return (float64(u.Millis) + float64(u.Rest)/float64(One)) / 1000
}

// UsageOf returns the usage of so many weight-seconds, rounded to whole
// weight-milliseconds; it fails if they are negative, not a number or too large.
func UsageOf(seconds float64) (Usage, error) {
	if math.IsNaN(seconds) || seconds < 0 || seconds*1000 >= math.MaxInt64 {
		return Usage{}, fmt.Errorf("usage of %v s: want a number from 0 up", seconds)
	}
	return Usage{Millis: int64(math.Round(seconds * 1000))}, nil
}

// Weight is the weight of a slot, in thousandths: a slot of SlotWeight 1 has Weight 1000.
// Weights are whole so that the end of a claim subtracts exactly what its beginning
// added.
type Weight int64

// One is the weight of a plain slot.
const One Weight = 1000

// MaxWeight is the largest weight a single slot may have: a million.
const MaxWeight = 1_000_000 * One

// WeightOf rounds w to thousandths. It fails when w is not a number, negative
// or above a million.
func WeightOf(w float64) (Weight, error) {
	if math.IsNaN(w) || w < 0 || w > float64(MaxWeight/One) {
		return 0, fmt.Errorf("slot weight %v: want a number from 0 to %d", w, MaxWeight/One)
	}
	return Weight(math.Round(w * float64(One))), nil
}

// Float returns the weight as users see it, in slots.
func (w Weight) Float() float64 { return float64(w) / float64(One) }

// String returns the weight as users see it, without needless digits.
func (w Weight) String() string { return strconv.FormatFloat(w.Float(), 'g', -1, 64) }
