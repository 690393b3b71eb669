package submitfile

import (
	"fmt"
	"strconv"
	"strings"
)

// slice is [start:end:step], of which any may be missing. [start] is [start:],
// as HTCondor reads it.
type slice struct{ start, end, step *int }

// cutSlice takes a slice off the front, if one is there: brackets with a colon,
// a whole number or nothing in them. What else is in brackets belongs to an item, as
// in [a-c]*.dat.
func cutSlice(tail string) (s slice, rest string, err error) {
	inner, rest, ok := strings.Cut(strings.TrimPrefix(tail, "["), "]")
	if !strings.HasPrefix(tail, "[") || !isSlice(inner, ok) {
		return slice{}, tail, nil
	}
	fields := strings.Split(inner, ":")
	if !ok || len(fields) > 3 {
		return slice{}, "", fmt.Errorf("%s: want a slice such as [2:10:2]", Shorten(tail))
	}
	for i, to := range []**int{&s.start, &s.end, &s.step}[:len(fields)] {
		field := strings.TrimSpace(fields[i])
		if field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil || i == 2 && n < 1 {
			return slice{}, "", fmt.Errorf("[%s]: want a slice such as [2:10:2], of whole numbers, the last above 0", Shorten(inner))
		}
		*to = &n
	}
	return s, strings.TrimSpace(rest), nil
}

// isSlice tells whether what stands in brackets is a slice, be it a wrong one.
func isSlice(inner string, closed bool) bool {
	if strings.HasPrefix(inner, "[") {
		return false // a class such as [[:digit:]]
	}
	_, err := strconv.Atoi(strings.TrimSpace(inner))
	return strings.Contains(inner, ":") || closed && (err == nil || strings.TrimSpace(inner) == "")
}

// of returns which of so many items the slice picks: the first, every
// so-manieth, and how many.
func (s slice) of(all int) (first, step, n int) {
	bound := func(p *int, otherwise int) int {
		switch {
		case p == nil:
			return otherwise
		case *p < 0:
			return max(*p+all, 0)
		}
		return min(*p, all)
	}
	first, step = bound(s.start, 0), 1
	end := bound(s.end, all)
	if s.step != nil {
		step = *s.step
	}
	if end <= first {
		return 0, 1, 0
	}
	return first, step, (end-first-1)/step + 1
}
