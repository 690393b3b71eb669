package main

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

const (
	pastRule = 144
	// leastHow is what a terminal has room for of how a job ended, at least.
	leastHow = 16
)

// pastColumns are those before how it ended. On a narrow terminal they are left out in the
// order of leaves, which the others have 0 for.
var pastColumns = [...]struct {
	head          string
	width, leaves int
	right         bool
}{
	{"job-ID", 11, 0, false}, {"name", 10, 5, false}, {"user", 12, 0, false}, {"submitted", 19, 1, false},
	{"started", 19, 3, false}, {"ended", 19, 0, false}, {"run time", 14, 4, true}, {"waited", 13, 2, true},
}

// pastTable writes a line for each job, as they come; nothing at all without a job.
// Without -w names are cut, and what has no room where a line has so many places; 0: any.
func pastTable(c *cmdline.Call, line int, ads iter.Seq[*classad.Ad]) error {
	ctx, head := &classad.Context{Now: c.Now}, false
	if c.Has("w") {
		line = 0
	}
	shown, room := pastFitted(line)
	var b []byte
	for ad := range ads {
		b = b[:0]
		if !head {
			head = true
			b = appendPastHead(b, shown, line)
		}
		l := lifeOf(ctx, ad)
		cells := [...]string{
			fmt.Sprint(l.id), printable(l.name), printable(l.user), moment(l.submitted), moment(l.started), moment(l.ended),
			dayTime(l.ran), dayTime(l.waited),
		}
		for i, text := range cells {
			if shown[i] {
				b = appendPast(b, i, text, c.Has("w"))
			}
		}
		how, _ := within(printable(l.how), room)
		b = append(append(b, how...), '\n')
		if _, err := c.Stdout.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// pastFitted returns which columns there are on a line, and how many places it leaves for
// how a job ended.
func pastFitted(line int) (shown [len(pastColumns)]bool, room int) {
	room = line
	for i, c := range pastColumns {
		shown[i] = true
		room -= c.width + 1
	}
	if line == 0 {
		return shown, math.MaxInt
	}
	for next := 1; room < leastHow && next <= 5; next++ {
		for i, c := range pastColumns {
			if c.leaves == next {
				shown[i] = false
				room += c.width + 1
			}
		}
	}
	return shown, max(room, leastHow)
}

func appendPastHead(b []byte, shown [len(pastColumns)]bool, line int) []byte {
	start, rule := len(b), pastRule
	for i, c := range pastColumns {
		if shown[i] {
			b = appendPast(b, i, c.head, false)
		}
	}
	b = append(b, "how\n"...)
	if line > 0 {
		rule = min(max(line, len(b)-start-1), pastRule)
	}
	return append(append(b, strings.Repeat("-", rule)...), '\n')
}

// appendPast appends a cell. Only names are cut, and not if they are to be whole.
func appendPast(b []byte, i int, text string, whole bool) []byte {
	c := pastColumns[i]
	short, left := within(text, c.width)
	switch {
	case short != text && (whole || c.head != "name" && c.head != "user"):
		return append(append(b, text...), ' ')
	case c.right:
		return append(append(pad(b, left), text...), ' ')
	}
	return append(pad(append(b, short...), left), ' ')
}

// moment writes a point in time that may not have come.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock(t)
}

// dayTime writes a length of time as D+HH:MM:SS.
func dayTime(d time.Duration) string { return string(appendDays(nil, d, '+')) }
