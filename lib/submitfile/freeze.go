package submitfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// frozen is a description with one queue line, without its items, as it is kept
// for later: all that it needs of the outside is in it.
type frozen struct {
	File        Exact
	Dir         Exact
	Predefined  map[string]Exact `json:",omitempty"`
	Environ     []Exact          `json:",omitempty"` // what $ENV() may ask for, as NAME=value
	Seed        uint64
	Assignments []frozenAssignment
	Queue       frozenQueue
}

type frozenAssignment struct {
	Name, Text, File Exact
	Line             int
}

type frozenQueue struct {
	Text, File  Exact
	Line, Count int
	Vars        []string `json:",omitempty"`
	Given       bool     // there are items
	First, Step int
	N           int // items
}

// ErrQueues says that a description has more than one queue line.
var ErrQueues = errors.New("want one queue line")

// Freeze returns the description as text that Thaw makes one of again: the head,
// one line of JSON without its end, and the items of its queue line, of which
// none has an end of line in it. environ is what $ENV() may ask for, as
// NAME=value. The error is ErrQueues.
func (d *Description) Freeze(environ []string) (head []byte, items []string, err error) {
	f := frozen{File: Exact(d.file), Dir: Exact(d.options.Dir), Predefined: map[string]Exact{}, Seed: d.options.Seed}
	for name, value := range d.options.Predefined {
		f.Predefined[name] = Exact(value)
	}
	var q *queue
	for _, s := range d.statements {
		switch {
		case q != nil && s.queue != nil:
			return nil, nil, ErrQueues
		case s.queue != nil:
			q = s.queue
		case q == nil:
			at := s.at.place(0)
			f.Assignments = append(f.Assignments, frozenAssignment{Exact(s.Name), Exact(s.Text), Exact(at.File), at.Line})
		}
	}
	if q == nil {
		return nil, nil, ErrQueues
	}
	if d.asksEnvironment() {
		f.Environ = Exactly(environ)
	}
	it := q.items
	at := q.at.place(0)
	f.Queue = frozenQueue{Exact(q.text), Exact(at.File), at.Line, q.count, q.vars, it.given, it.first, it.step, it.len()}
	for i := range f.Queue.N {
		if _, text := it.line(i); it.given {
			items = append(items, strings.ReplaceAll(text, "\n", " "))
		}
	}
	head, err = json.Marshal(f)
	return head, items, err
}

// asksEnvironment tells whether some text may ask for a variable of the
// environment.
func (d *Description) asksEnvironment() bool {
	for _, s := range d.statements {
		if strings.Contains(s.Text, "$ENV") {
			return true
		}
		if s.queue == nil {
			continue
		}
		for _, line := range s.queue.items.lines {
			if strings.Contains(line, "$ENV") {
				return true
			}
		}
	}
	return false
}

// Thaw returns the description that Freeze made a head of, good for the procs from
// first to first+n-1: rest begins with the item of the first. It returns how
// many bytes of rest stand before the item of the proc behind them.
func Thaw(head []byte, rest io.Reader, first, n int) (d *Description, passed int64, err error) {
	var f frozen
	if err := json.Unmarshal(head, &f); err != nil {
		return nil, 0, fmt.Errorf("not a frozen description: %w", err)
	}
	fq := f.Queue
	switch {
	case fq.Count < 1 || fq.N < 1 || fq.N > 1 && !fq.Given || fq.Count > MaxJobs/fq.N:
		return nil, 0, errors.New("not a frozen description: no number of jobs that there can be")
	case first < 0 || n < 1 || first > fq.Count*fq.N-n:
		return nil, 0, fmt.Errorf("no procs %d to %d", first, first+n-1)
	}
	d = &Description{file: string(f.File), texts: map[string]template{}}
	d.options = Options{Dir: string(f.Dir), Predefined: map[string]string{}, Seed: f.Seed, LookupEnv: lookupIn(f.Environ)}
	for name, value := range f.Predefined {
		d.options.Predefined[name] = string(value)
	}
	for _, a := range f.Assignments {
		d.statements = append(d.statements, statement{Assignment: Assignment{
			Name: string(a.Name), Text: string(a.Text), at: origin{file: string(a.File), line: a.Line},
		}})
	}
	q := &queue{at: origin{file: string(fq.File), line: fq.Line}, text: string(fq.Text), count: fq.Count, vars: fq.Vars}
	for _, v := range fq.Vars {
		q.keys = append(q.keys, strings.ToLower(v))
	}
	q.items = items{given: fq.Given, first: fq.First, step: fq.Step, n: fq.N, thawed: true, window: first / fq.Count}
	if fq.Given {
		last := (first + n - 1) / fq.Count
		q.items.lines, passed, err = readItems(rest, last-q.items.window+1, (first+n)%fq.Count == 0)
	}
	d.statements = append(d.statements, statement{queue: q})
	return d, passed, err
}

// readItems reads n lines. It returns how many bytes stand before the last of
// them, or behind it when that is done with.
func readItems(r io.Reader, n int, done bool) (lines []string, passed int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for i := range n {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, 0, fmt.Errorf("its items end after %d of %d lines: %w", i, n, err)
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
		if i < n-1 || done {
			passed += int64(len(line))
		}
	}
	return lines, passed, nil
}

// lookupIn returns what looks names up in an environment.
func lookupIn(environ []Exact) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range environ {
			if value, ok := strings.CutPrefix(string(v), name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// Sets tells whether the description gives a name, in lower case, a value, as a
// macro or by the items of a queue line.
func (d *Description) Sets(key string) bool {
	for _, s := range d.statements {
		if s.queue == nil && strings.EqualFold(s.Name, key) || s.queue != nil && slices.Contains(s.queue.keys, key) {
			return true
		}
	}
	return false
}

// ItemsBefore returns how many items the first n procs of a description with one
// queue line are done with.
func (d *Description) ItemsBefore(n int) int {
	for _, s := range d.statements {
		if s.queue != nil && s.queue.items.given {
			return n / max(s.queue.count, 1)
		}
	}
	return 0
}
