package sge

import (
	"strconv"
	"strings"
)

// SlotsText returns the slots that a job wants of a parallel environment as they are kept in
// its ad: ranges in ascending order that neither overlap nor touch, without blanks, 8-2 as
// 2-8 and -8 as 1-8. Of a single number there is only that. Slots reads the same of both
// texts. What Slots takes for no number of slots is an error.
func SlotsText(wanted string) (string, error) {
	ranges, err := slotRanges(strings.TrimSpace(wanted))
	if err != nil {
		return "", err
	}
	var text []byte
	for i, r := range ranges {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, r.from, 10)
		if r.open || r.to > r.from {
			text = append(text, '-')
		}
		if !r.open && r.to > r.from {
			text = strconv.AppendInt(text, r.to, 10)
		}
	}
	return string(text), nil
}
