package submitfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/macro"
)

// each is what stands in a queue line behind its variables.
type each struct {
	keyword string // in, from or matching
	kind    string // of matching: files, dirs, any, or nothing
	table   *table // of from
	slice   slice
	tail    string // where the items come from
}

// parseEach reads what stands behind the keyword.
func parseEach(keyword, tail string) (e each, err error) {
	e = each{keyword: keyword, tail: tail}
	if keyword == "matching" {
		e.kind, e.tail = matchingKind(e.tail)
	}
	if e.slice, e.tail, err = cutSlice(e.tail); err != nil {
		return e, err
	}
	switch {
	case keyword == "matching" && e.kind == "":
		e.kind, e.tail = matchingKind(e.tail)
	case keyword == "from":
		e.table, e.tail, err = cutTable(e.tail)
	}
	return e, err
}

// opens tells whether the items go on in the lines below.
func (e each) opens() bool {
	return strings.HasPrefix(e.tail, "(") && !strings.HasSuffix(e.tail, ")")
}

// opensItems tells whether the rest of a queue line opens a list that
// goes on in the lines below.
func opensItems(rest string) bool {
	_, keyword, tail := cutKeyword(rest)
	e, err := parseEach(keyword, tail)
	return keyword != "" && err == nil && e.opens()
}

// foreach finds the items of a queue line.
func (f *source) foreach(q *queue, l logical, keyword, tail string) error {
	e, err := parseEach(keyword, tail)
	if err != nil {
		return fmt.Errorf("%s: %w", q.label(), err)
	}
	q.items.given = true
	before, blank := len(f.warnings), false
	switch keyword {
	case "in":
		q.items.lines, err = f.listed(l, e.tail)
	case "from":
		q.items.lines, q.items.where, blank, err = f.from(l, e.tail)
	default:
		q.items.lines, err = f.matching(l, e.kind, e.tail)
	}
	if err == nil && e.table != nil {
		err = q.fromTable(e.table)
	}
	switch {
	case err != nil && isPlaced(err):
		return err
	case err != nil:
		return fmt.Errorf("%s: %w", q.label(), err)
	}
	q.items.first, q.items.step, q.items.n = e.slice.of(len(q.items.lines))
	if q.items.n == 0 && before == len(f.warnings) {
		f.note(Warning{Place: l.place(0), Msg: q.label() + ": no items, so no jobs"})
	}
	if blank {
		f.note(Warning{Place: l.place(0), Msg: q.label() + ": blank lines among the items are left out; HTCondor makes jobs of them"})
	}
	return nil
}

// fromTable makes items of the rows of a table, and variables of its header row
// unless the queue line has some.
func (q *queue) fromTable(t *table) error {
	items, names, err := t.rows(q.items.lines)
	if err != nil {
		return err
	}
	q.items.lines, q.items.where = items, nil
	if !q.unnamed || names == nil {
		return nil
	}
	return q.setVars(names)
}

// itemLines returns the lines of a list up to that which begins with the
// closing parenthesis, and their numbers.
func (f *source) itemLines(l logical) (out []string, numbers []int, err error) {
	for {
		item, ok := f.next()
		if !ok {
			return nil, nil, l.errorf("%s: no line that begins with ) ends the list", Shorten(l.text))
		}
		if strings.HasPrefix(item.text, ")") {
			return out, numbers, nil
		}
		out, numbers = append(out, item.text), append(numbers, item.place(0).Line)
	}
}

// block returns the lines of a list in parentheses, on this line or on those
// below, and where they stand if that is below. ok is false when there are no
// parentheses.
func (f *source) block(l logical, tail string) (lines []string, where *written, ok bool, err error) {
	inner, ok := strings.CutPrefix(tail, "(")
	if !ok {
		return nil, nil, false, nil
	}
	inner, closed := strings.CutSuffix(inner, ")")
	if inner = strings.TrimSpace(inner); closed {
		if inner != "" {
			lines = []string{inner}
		}
		return lines, nil, true, nil
	}
	more, numbers, err := f.itemLines(l)
	if inner != "" {
		more, numbers = slices.Insert(more, 0, inner), slices.Insert(numbers, 0, l.place(0).Line)
	}
	return more, &written{file: f.name, lines: f.lines, numbers: numbers}, true, err
}

// list returns the lines of a list, in parentheses or without.
func (f *source) list(l logical, tail string) ([]string, error) {
	lines, _, ok, err := f.block(l, tail)
	if ok || err != nil {
		return lines, err
	}
	return []string{tail}, nil
}

// listed returns the items of `in`, parted by commas and blanks.
func (f *source) listed(l logical, tail string) ([]string, error) {
	if tail == "" {
		return nil, errors.New("in: want items, or a list in parentheses")
	}
	lines, err := f.list(l, tail)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, line := range lines {
		out = append(out, macro.List(line)...)
	}
	return out, nil
}

// from returns the items of `from`: the lines of a list, of a file, of what a
// command prints or of standard input; where they stand, unless it is a command; and
// whether blank lines among them were left out.
func (f *source) from(l logical, tail string) (out []string, where *written, blank bool, err error) {
	passed := f.lines.Blank()
	if lines, where, ok, err := f.block(l, tail); ok || err != nil {
		return lines, where, f.lines.Blank() > passed, err
	}
	text, err := f.fromOutside(tail)
	if err != nil {
		return nil, nil, false, err
	}
	text = strings.TrimPrefix(text, "\uFEFF")
	where = &written{file: tail, text: text}
	if tail == "-" {
		where.file = "standard input"
	} else if strings.HasSuffix(tail, "|") {
		where = nil
	}
	out = make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		if line = trimItem(strings.TrimSuffix(line, "\n")); line == "" {
			blank = true
		} else {
			out = append(out, line)
		}
	}
	return out, where, blank, nil
}

func (f *source) fromOutside(tail string) (text string, err error) {
	command, isCommand := strings.CutSuffix(tail, "|")
	switch {
	case isCommand:
		return f.run(strings.TrimSpace(command))
	case tail == "":
		return "", errors.New("from: want a file, a command and |, or a list in parentheses")
	case tail == "-":
		if f.stdin == nil {
			return "", errors.New("standard input is not there to be read for items")
		}
		read := f.stdin
		f.stdin = nil
		return read()
	}
	text, err = f.read(tail)
	if err != nil {
		err = fmt.Errorf("%s: %w", Shorten(tail), err)
	}
	return text, err
}
