package userlog

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/pool"
)

// header is the first line of an event.
type header struct {
	number  int
	job     pool.JobID
	subproc int
	date    date
	head    string // what stands behind the time
}

// date is a moment as it is written; year is 0 in the old form.
type date struct {
	year, month, day, hour, minute, second, nano int
	stamp                                        Stamp
}

var (
	errHeader = errors.New("no event begins here: want a line like 000 (012.003.000) 2026-11-20 10:00:00")
	errDate   = errors.New("no date: want one like 2026-11-20 10:00:00 or 11/20 10:00:00")
)

// isHeader tells whether a line begins an event.
func isHeader[T string | []byte](line T) bool {
	if len(line) < 5 || line[3] != ' ' || line[4] != '(' {
		return false
	}
	_, err := parseHeader(string(line))
	return err == nil
}

func parseHeader(line string) (h header, err error) {
	number, rest, ok := strings.Cut(line, " (")
	ids, when, closed := strings.Cut(rest, ") ")
	if !ok || !closed || len(number) != 3 || digits(number) != 3 || number[0] == '-' {
		return h, errHeader
	}
	h.number, _ = strconv.Atoi(number)
	if !scan(ids, "%d.%d.%d", &h.job.Cluster, &h.job.Proc, &h.subproc) {
		return h, errHeader
	}
	h.date, h.head, ok = cutDate(when)
	if !ok {
		return h, errDate
	}
	return h, nil
}

// cutDate reads a moment and returns what stands behind it.
func cutDate(text string) (d date, rest string, ok bool) {
	p := places{text: text, ok: true}
	if len(text) > 2 && text[2] == '/' {
		d.stamp.Old = true
		d.month, _, d.day = p.number(2), p.expect("/"), p.number(2)
	} else {
		d.year, _, d.month, _, d.day = p.number(4), p.expect("-"), p.number(2), p.expect("-"), p.number(2)
	}
	if d.stamp.T = !d.stamp.Old && strings.HasPrefix(p.text, "T"); !d.stamp.T {
		p.expect(" ")
	} else {
		p.expect("T")
	}
	d.hour, _, d.minute, _, d.second = p.number(2), p.expect(":"), p.number(2), p.expect(":"), p.number(2)
	if strings.HasPrefix(p.text, ".") {
		p.expect(".")
		n := min(digits("0"+p.text)-1, 9)
		d.stamp.Digits, d.nano = n, p.number(n)
		for range 9 - n {
			d.nano *= 10
		}
		p.ok = p.ok && n > 0
	}
	if d.stamp.UTC = strings.HasPrefix(p.text, "Z"); d.stamp.UTC {
		p.expect("Z")
	}
	if p.text != "" {
		p.expect(" ")
	}
	return d, p.text, p.ok && d.month >= 1 && d.month <= 12 && d.day >= 1 && (d.day <= 28 || d.day <= daysIn(d.month, d.year, d.stamp.Old)) &&
		d.hour < 24 && d.minute < 60 && d.second < 60
}

// places are the places of a date that are still to be read.
type places struct {
	text string
	ok   bool
}

// number reads exactly n digits.
func (p *places) number(n int) int {
	v := 0
	for i := range n {
		if i == len(p.text) || p.text[i] < '0' || p.text[i] > '9' {
			p.ok = false
			return 0
		}
		v = 10*v + int(p.text[i]-'0')
	}
	p.text = p.text[n:]
	return v
}

func (p *places) expect(text string) bool {
	rest, ok := strings.CutPrefix(p.text, text)
	p.text, p.ok = rest, p.ok && ok
	return ok
}

// leapYear is any.
const leapYear = 2024

func daysIn(month, year int, old bool) int {
	if old {
		year = leapYear
	}
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// in returns the moment, of a year where the date has none.
func (d date) in(year int, zone *time.Location) time.Time {
	if !d.stamp.Old {
		year = d.year
	}
	for d.stamp.Old && d.day > daysIn(d.month, year, false) {
		year-- // the 29th of February: of the last leap year
	}
	if d.stamp.UTC {
		zone = time.UTC
	}
	return time.Date(year, time.Month(d.month), d.day, d.hour, d.minute, d.second, d.nano, zone)
}
