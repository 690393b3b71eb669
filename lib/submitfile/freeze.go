package submitfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// frozen is a description without the items of its queue lines, as it is kept for later or
// sent: all that it needs of the outside is in it.
type frozen struct {
	File        Exact
	Dir         Exact
	Predefined  map[string]Exact `json:",omitempty"`
	Environ     []Exact          `json:",omitempty"` // what $ENV() may ask for, as NAME=value
	Seed        uint64
	Assignments []frozenAssignment
	Queues      []frozenQueue
}

type frozenAssignment struct {
	Name, Text, File Exact
	Line             int
	Source           Exact `json:",omitempty"` // the line as it was written
	Col              int   `json:",omitempty"`
}

type frozenQueue struct {
	After       int // so many of the assignments stand before the queue line
	Text, File  Exact
	Line, Count int
	Vars        []string `json:",omitempty"`
	Given       bool     // there are items
	First, Step int
	N           int // items
}

// errQueues says that a description has no queue line, or several where one is wanted.
var errQueues = errors.New("want one queue line")

// Freeze returns the description as text from which Thaw and ThawAll restore it: the head,
// one line of JSON without its end, and the items of its queue lines, none with an end of
// line in it. environ is the environment for $ENV(), as NAME=value. With sources, later
// messages show the lines of the file. A description without a queue line is an error.
func (d *Description) Freeze(environ []string, sources bool) (head []byte, items []string, err error) {
	f := frozen{File: Exact(d.file), Dir: Exact(d.options.Dir), Predefined: map[string]Exact{}, Seed: d.options.Seed}
	for name, value := range d.options.Predefined {
		f.Predefined[name] = Exact(value)
	}
	for _, s := range d.statements {
		if s.queue == nil {
			at := s.at.place(0)
			a := frozenAssignment{Name: Exact(s.Name), Text: Exact(s.Text), File: Exact(at.File), Line: at.Line}
			if sources {
				a.Source, a.Col = Exact(at.Source), at.Col
			}
			f.Assignments = append(f.Assignments, a)
			continue
		}
		q := s.queue
		it, at := q.items, q.at.place(0)
		n := it.len()
		f.Queues = append(f.Queues, frozenQueue{len(f.Assignments), Exact(q.text), Exact(at.File), at.Line, q.count, q.vars, it.given, it.first, it.step, n})
		for i := range n {
			if _, text := it.line(i); it.given {
				items = append(items, strings.ReplaceAll(text, "\n", " "))
			}
		}
	}
	if len(f.Queues) == 0 {
		return nil, nil, errQueues
	}
	if d.asksEnvironment() {
		f.Environ = Exactly(environ)
	}
	head, err = json.Marshal(f)
	return head, items, err
}

// asksEnvironment reports whether some text may ask for a variable of the
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

// Thaw returns the description with one queue line that Freeze made a head of, good for the procs
// from first to first+n-1: rest begins with the item of the first. It returns how
// many bytes of rest stand before the item of the proc behind them.
func Thaw(head []byte, rest io.Reader, first, n int) (d *Description, passed int64, err error) {
	d, queues, err := thaw(head)
	if err != nil {
		return nil, 0, err
	}
	if len(queues) != 1 {
		return nil, 0, errNotFrozen(errQueues.Error())
	}
	fq := queues[0]
	if err := fq.check(); err != nil {
		return nil, 0, err
	}
	if first < 0 || n < 1 || first > fq.Count*fq.N-n {
		return nil, 0, fmt.Errorf("no procs %d to %d", first, first+n-1)
	}
	if fq.After < 0 || fq.After > len(d.statements) {
		return nil, 0, errNotFrozen("a queue line out of order")
	}
	d.statements = d.statements[:fq.After] // what stands behind it says nothing of its jobs
	q := fq.queue(first / fq.Count)
	if fq.Given {
		last := (first + n - 1) / fq.Count
		q.items.lines, passed, err = readItems(bufio.NewReaderSize(rest, 1<<16), last-q.items.window+1, (first+n)%fq.Count == 0)
	}
	d.statements = append(d.statements, statement{queue: q})
	return d, passed, err
}

// ThawAll returns the description that Freeze made a head of, with all its queue lines and their
// items, with which rest begins.
func ThawAll(head []byte, rest io.Reader) (*Description, error) {
	d, queues, err := thaw(head)
	if err != nil {
		return nil, err
	}
	assignments := d.statements
	d.statements = nil
	in, done := bufio.NewReaderSize(rest, 1<<16), 0
	for _, fq := range queues {
		if fq.N == 0 || fq.Count == 0 { // a queue line that asks for no job
			continue
		}
		if err := fq.check(); err != nil {
			return nil, err
		}
		if fq.After < done || fq.After > len(assignments) {
			return nil, errNotFrozen("a queue line out of order")
		}
		d.statements = append(d.statements, assignments[done:fq.After]...)
		done = fq.After
		q := fq.queue(0)
		if fq.Given {
			if q.items.lines, _, err = readItems(in, fq.N, true); err != nil {
				return nil, err
			}
		}
		d.statements = append(d.statements, statement{queue: q})
	}
	return d, nil
}

// errNotFrozen says why a text was not made by Freeze.
func errNotFrozen(why string) error { return errors.New("not a frozen description: " + why) }

// thaw returns the description with its assignments, and the frozen queue lines.
func thaw(head []byte) (*Description, []frozenQueue, error) {
	var f frozen
	if err := json.Unmarshal(head, &f); err != nil {
		return nil, nil, fmt.Errorf("not a frozen description: %w", err)
	}
	d := &Description{file: string(f.File), texts: map[string]template{}}
	d.options = Options{Dir: string(f.Dir), Predefined: map[string]string{}, Seed: f.Seed, LookupEnv: lookupIn(f.Environ)}
	for name, value := range f.Predefined {
		d.options.Predefined[name] = string(value)
	}
	for _, a := range f.Assignments {
		d.statements = append(d.statements, statement{Assignment: Assignment{
			Name: string(a.Name), Text: string(a.Text), at: origin{file: string(a.File), line: a.Line, source: string(a.Source), col: a.Col},
		}})
	}
	return d, f.Queues, nil
}

// check refuses numbers that no queue line has.
func (fq *frozenQueue) check() error {
	if fq.Count < 1 || fq.N < 1 || fq.N > 1 && !fq.Given || fq.Count > MaxJobs/fq.N {
		return errNotFrozen("no number of jobs that there can be")
	}
	return nil
}

// queue returns the queue line; its items are to come from the item window on.
func (fq *frozenQueue) queue(window int) *queue {
	q := &queue{at: origin{file: string(fq.File), line: fq.Line}, text: string(fq.Text), count: fq.Count, vars: fq.Vars}
	for _, v := range fq.Vars {
		q.keys = append(q.keys, strings.ToLower(v))
	}
	q.items = items{given: fq.Given, first: fq.First, step: fq.Step, n: fq.N, thawed: true, window: window}
	return q
}

// readItems reads n lines. It returns how many bytes stand before the last of
// them, or behind it when that is done with.
func readItems(in *bufio.Reader, n int, done bool) (lines []string, passed int64, err error) {
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

// Sets reports whether the description gives a name, in lower case, a value, as a
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

// Exact is a text that JSON keeps byte for byte. JSON has no bytes that are not
// UTF-8, as paths may have: there each of them is the character behind firstByte
// that has its number.
type Exact string

// firstByte stands for the byte 0, the last character for the byte 255. These characters
// have no meaning, and if they occur their bytes are written one by one as well.
const firstByte = utf8.MaxRune - 255

// MarshalText implements encoding.TextMarshaler. It never fails.
func (e Exact) MarshalText() ([]byte, error) {
	text := string(e)
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r >= firstByte || r == utf8.RuneError && size == 1 {
			for _, c := range []byte(text[:size]) {
				out = utf8.AppendRune(out, firstByte+rune(c))
			}
		} else {
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out, nil
}

// UnmarshalText implements encoding.TextUnmarshaler. It never fails.
func (e *Exact) UnmarshalText(text []byte) error {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r >= firstByte {
			b.WriteByte(byte(r - firstByte))
		} else {
			b.Write(text[:size])
		}
		text = text[size:]
	}
	*e = Exact(b.String())
	return nil
}

// Texts is the inverse of Exactly.
func Texts(list []Exact) []string {
	var out []string
	for _, e := range list {
		out = append(out, string(e))
	}
	return out
}

// Exactly returns texts as those that are kept exactly.
func Exactly(texts []string) []Exact {
	var out []Exact
	for _, text := range texts {
		out = append(out, Exact(text))
	}
	return out
}
