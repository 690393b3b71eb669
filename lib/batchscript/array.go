package batchscript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/submitfile"
)

// array is the indices of a script's jobs: count of them, in steps from the first, or those of a
// list.
type array struct {
	at                 submitfile.Place
	first, step, count int
	list               []int // nil: the others hold
}

const (
	// mostListed bounds the jobs of an array that is no single range.
	mostListed = 100_000
	mostIndex  = 1<<31 - 1
)

// setArray reads indices: ranges A-B, with :STEP behind them, and numbers, with commas between,
// and behind all of it perhaps %N, how many jobs run at a time.
func setArray(b *batch, g given) error {
	text, limit, limited := strings.Cut(g.text, "%")
	if limited {
		n, err := strconv.ParseInt(limit, 10, 32)
		if err != nil || n < 1 {
			return g.wants("a number of jobs from 1 up behind %")
		}
		b.limit = int(n)
	}
	a := array{at: g.at}
	ranges := strings.Split(text, ",")
	for _, one := range ranges {
		first, count, step, ok := indices(one)
		switch {
		case !ok:
			return g.wants("indices such as 1-10, 0-20:5 or 1,3,7")
		case b.is(ofGridEngine) && first == 0:
			return g.refuse("%s: the first index of an array is 1", submitfile.Shorten(one))
		case len(ranges) == 1 && count > submitfile.MaxJobs:
			return g.refuse("%d jobs: want %d at most", count, submitfile.MaxJobs)
		case len(ranges) == 1:
			a.first, a.step, a.count = first, step, count
			b.array = a
			return nil
		case len(a.list)+count > mostListed:
			return g.refuse("more than %d jobs in several ranges: write one range", mostListed)
		}
		for i := range count {
			a.list = append(a.list, first+i*step)
		}
	}
	slices.Sort(a.list)
	a.list = slices.Compact(a.list)
	a.count = len(a.list)
	b.array = a
	return nil
}

// indices reads N, A-B or A-B:STEP.
func indices(text string) (first, count, step int, ok bool) {
	from, to, ranged := strings.Cut(text, "-")
	to, by, stepped := strings.Cut(to, ":")
	step = 1
	number := func(text string) int {
		n, err := strconv.ParseUint(text, 10, 31)
		ok = ok && err == nil
		return int(n)
	}
	ok = true
	first = number(from)
	last := first
	if ranged {
		last = number(to)
	}
	if stepped {
		step = number(by)
	}
	if !ok || last < first || last >= mostIndex || step < 1 {
		return 0, 0, 0, false
	}
	return first, (last-first)/step + 1, step, true
}

// last returns the greatest index.
func (a array) last() int {
	if a.list != nil {
		return a.list[len(a.list)-1]
	}
	return a.first + (a.count-1)*a.step
}

// least returns the smallest index.
func (a array) least() int {
	if a.list != nil {
		return a.list[0]
	}
	return a.first
}

// formula returns what makes an index of the number of a proc.
func (a array) formula(proc string) string {
	if a.step != 1 {
		proc += " * " + strconv.Itoa(a.step)
	}
	if a.first != 0 {
		proc += " + " + strconv.Itoa(a.first)
	}
	return proc
}

// attribute returns the expression for the index in the job's ad. That of a range is the same
// for all jobs.
func (a array) attribute() string {
	if a.list != nil {
		return "$(" + IndexAttr + ")"
	}
	return a.formula("ProcId")
}

// text returns the index in the submit language, with zeros in front up to a width.
func (a array) text(width int) string {
	of := a.formula("$(Process)")
	if a.list != nil {
		of = "$(" + IndexAttr + ")"
	}
	return padded(of, width)
}

// padded returns a number of the submit language with zeros in front up to a width.
func padded(of string, width int) string {
	switch {
	case width > 0:
		return fmt.Sprintf("$INT(%s,%%0%dd)", of, width)
	case strings.Contains(of, " "):
		return "$INT(" + of + ")"
	}
	return of
}

// queue returns the arguments of the queue line.
func (a array) queue() string {
	if a.list == nil {
		return strconv.Itoa(a.count)
	}
	words := make([]string, len(a.list))
	for i, n := range a.list {
		words[i] = strconv.Itoa(n)
	}
	return IndexAttr + " in (" + strings.Join(words, ", ") + ")"
}
