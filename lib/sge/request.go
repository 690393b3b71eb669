package sge

import (
	"math"
	"strconv"
	"strings"
)

// mostAmount is what larger amounts count as, INFINITY among them, and negative ones likewise.
// No machine has more of anything: of bytes this is an exabyte. It fits into an integer of 64
// bits, and displays have 19 digits of it; the largest number that there is would have 300,
// and the sums with it would leave none of the digits of others.
const mostAmount = 1e18

// counts says whether requests for the complex make a difference: SlotsComplex is what jobs
// have without asking.
func (x *Complex) counts() bool { return x.Urgency != 0 && !strings.EqualFold(x.Name, SlotsComplex) }

// amount reads an amount as complex(5) has it: INT and DOUBLE a number, TIME seconds or h:m:s,
// of which parts may be empty, MEMORY a number of bytes with k (1000), K (1024), m, M, g, G, t
// or T behind it, BOOL TRUE, FALSE, 1 or 0; of the other types any text, as they have no
// amounts. INFINITY is the largest number. It is false for text that is none of the type.
func (t ComplexType) amount(text string) (x float64, ok bool) {
	text = strings.TrimSpace(text)
	if t >= String {
		return 1, true
	}
	if t != Bool && strings.EqualFold(text, "INFINITY") {
		return mostAmount, true
	}
	switch t {
	case Bool:
		return truth(text)
	case Time:
		return duration(text)
	case Memory:
		return bytes(text)
	case Int:
		if strings.Trim(text, "0123456789+-") != "" {
			return 0, false
		}
	}
	return decimal(text)
}

func truth(text string) (float64, bool) {
	switch strings.ToUpper(text) {
	case "TRUE", "1":
		return 1, true
	case "FALSE", "0":
		return 0, true
	}
	return 0, false
}

// decimal reads a decimal number.
func decimal(text string) (float64, bool) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false // ParseFloat knows more words
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	return min(max(x, -mostAmount), mostAmount), true
}

// duration reads seconds, or hours, minutes and seconds, of which the first may be left out
// and each be empty.
func duration(text string) (seconds float64, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 || text == "" {
		return 0, false
	}
	for _, part := range parts {
		x, ok := 0.0, part == "" && len(parts) > 1
		if !ok && strings.Trim(part, "0123456789.") == "" {
			x, ok = decimal(part)
		}
		if !ok {
			return 0, false
		}
		seconds = 60*seconds + x
	}
	return min(seconds, mostAmount), true
}

// units are the letters behind a number of bytes.
var units = map[byte]float64{'k': 1e3, 'K': 1 << 10, 'm': 1e6, 'M': 1 << 20, 'g': 1e9, 'G': 1 << 30, 't': 1e12, 'T': 1 << 40}

func bytes(text string) (float64, bool) {
	unit := 1.0
	if n := len(text); n > 0 && units[text[n-1]] != 0 {
		unit, text = units[text[n-1]], text[:n-1]
	}
	x, ok := decimal(text)
	return min(max(x*unit, -mostAmount), mostAmount), ok
}

// ofNumber returns the amount that a number of an ad is.
func (t ComplexType) ofNumber(x float64) (float64, bool) {
	switch {
	case x != x:
		return 0, false
	case t == Bool:
		return x, x == 0 || x == 1
	case t == Int:
		x = math.Trunc(x)
	}
	return min(max(x, -mostAmount), mostAmount), true
}
