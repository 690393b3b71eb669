package chart

import (
	"math"
	"strconv"
	"strings"
)

// tick is a place on an axis that has a label, which may be of two lines.
type tick struct {
	at    float64
	label string
}

// scale is the range of a vertical axis, lo below hi, and its ticks.
type scale struct {
	lo, hi float64
	ticks  []tick
}

// fromZero is the scale for amounts: from nothing to a little more than the
// most, with round numbers.
func fromZero(lo, hi float64, n int) scale {
	lo, hi = min(lo, 0), max(hi, 0)
	if hi <= lo {
		hi = lo + 1
	}
	hi += (hi - lo) / 20
	return scale{lo, hi, round(lo, hi, n)}
}

// logarithm returns the place of v on a logarithmic scale, which has none for
// nothing or less.
func logarithm(v float64) (float64, bool) {
	if v <= 0 {
		return 0, false
	}
	return math.Log10(v), true
}

// narrowest is how many decades a logarithmic scale has at least, so that
// what hardly changes does not look as if it did.
const narrowest = 0.5

// decades is the logarithmic scale, for logarithms from lo to hi.
func decades(lo, hi float64, n int) scale {
	room := max((hi-lo)/20, (narrowest-(hi-lo))/2)
	lo, hi = lo-room, hi+room
	s := scale{lo: lo, hi: hi}
	stride := max(1, math.Ceil((hi-lo)/float64(n)))
	for e := math.Ceil(lo); e <= hi; e += stride {
		s.ticks = append(s.ticks, tick{e, number(math.Pow(10, e))})
	}
	if len(s.ticks) >= 3 || len(s.ticks) == 2 && hi-lo > 2 {
		return s
	}
	for _, mantissas := range [][]float64{{1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 7}} {
		if s.ticks = within(lo, hi, mantissas); len(s.ticks) >= 3 {
			break
		}
	}
	return s
}

// within returns the ticks from lo to hi, logarithms, at these multiples of
// the powers of ten.
func within(lo, hi float64, mantissas []float64) []tick {
	var ticks []tick
	for e := math.Floor(lo); e <= hi; e++ {
		for _, m := range mantissas {
			if at := e + math.Log10(m); at >= lo && at <= hi {
				ticks = append(ticks, tick{at, number(m * math.Pow(10, e))})
			}
		}
	}
	return ticks
}

// round returns about n ticks at round numbers from lo to hi.
func round(lo, hi float64, n int) []tick {
	power := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	unit := 10 * power
	for _, m := range []float64{5, 2, 1} {
		if (hi-lo)/(power*m) <= float64(n)+0.5 {
			unit = power * m
		}
	}
	var ticks []tick
	// Adding 0 keeps -0 out of the labels.
	for i := math.Ceil(lo/unit) + 0; i <= math.Floor(hi/unit); i++ {
		ticks = append(ticks, tick{i * unit, number(i * unit)})
	}
	return ticks
}

// number writes a tick's value: as people do below a million, and shortly
// above.
func number(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if a := math.Abs(v); a == 0 || a >= 1e-4 && a < 1e6 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	e, _ := strconv.Atoi(exponent)
	return mantissa + "e" + strconv.Itoa(e)
}
