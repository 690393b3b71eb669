// Package windowtext writes the windows of a tally as the texts in its row, and reads them.
package windowtext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
)

// Of writes windows, the newest first: one is its dedicated and its
// utilized usage, each in milliseconds and the thousandths left over.
func Of(windows []accountant.Window) string {
	var b []byte
	for i, w := range windows {
		b = appendWindow(b, i, w.Dedicated, w.Utilized)
	}
	return string(b)
}

// Equivalents writes the windows' equivalents likewise. They stand apart from the
// other usage, and only where one is not what is dedicated: so a row without them
// reads as it did, and one with them can be read by a program that knows of none.
func Equivalents(windows []accountant.Window) string {
	var b []byte
	for i, w := range windows {
		b = appendWindow(b, i, w.Equivalent)
	}
	return string(b)
}

// appendWindow writes what the i-th window has of each kind of usage.
func appendWindow(b []byte, i int, kinds ...accountant.Usage) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	for j, u := range kinds {
		if i+j > 0 {
			b = append(b, ' ')
		}
		b = append(strconv.AppendInt(b, u.Millis, 10), ' ')
		b = strconv.AppendInt(b, u.Rest, 10)
	}
	return b
}

// Parse is the inverse of Of. The equivalents are what is dedicated
// until others are known.
func Parse(text string) ([]accountant.Window, error) {
	windows := make([]accountant.Window, 0, strings.Count(text, ",")+1)
	for one := range strings.SplitSeq(text, ", ") {
		var n [4]int64
		if !numbers(n[:], one) {
			return nil, errors.New("not windows of four numbers each")
		}
		dedicated := accountant.Usage{Millis: n[0], Rest: n[1]}
		windows = append(windows, accountant.Window{
			Dedicated: dedicated, Equivalent: dedicated, Utilized: accountant.Usage{Millis: n[2], Rest: n[3]},
		})
	}
	return windows, nil
}

// ParseEquivalents is the inverse of Equivalents: it says how much of equivalents
// each of the windows has.
func ParseEquivalents(text string, of []accountant.Window) error {
	wrong := fmt.Errorf("not two numbers for each of %d windows", len(of))
	each := strings.Split(text, ", ")
	if len(each) != len(of) {
		return wrong
	}
	for i, one := range each {
		var n [2]int64
		if !numbers(n[:], one) {
			return wrong
		}
		of[i].Equivalent = accountant.Usage{Millis: n[0], Rest: n[1]}
	}
	return nil
}

// numbers reads as many numbers as there is room for, a blank between two, and says
// whether that was all of the text.
func numbers(to []int64, text string) bool {
	for i := range to {
		digits, rest, more := strings.Cut(text, " ")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || more != (i < len(to)-1) {
			return false
		}
		to[i], text = n, rest
	}
	return true
}
