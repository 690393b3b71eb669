package submitfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// opens reports whether the items go on in the lines below.
func (e each) opens() bool {
	return strings.HasPrefix(e.tail, "(") && !strings.HasSuffix(e.tail, ")")
}

// opensItems reports whether the rest of a queue line opens a list that
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

// from returns the items of `from`: the lines of a list, of a file, of a command's output
// or of standard input; their place, unless it is a command; and whether blank lines
// among them were left out.
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

// matchingKind takes files, dirs or any off the front.
func matchingKind(tail string) (kind, rest string) {
	end := 0
	for end < len(tail) && isNameByte(tail[end]) {
		end++
	}
	switch word := strings.ToLower(tail[:end]); word {
	case "files", "dirs", "any":
		if end == len(tail) || isBlank(tail[end]) || tail[end] == '(' || tail[end] == '[' {
			return word, strings.TrimSpace(tail[end:])
		}
	}
	return "", tail
}

// matches is what becomes of the names that patterns match.
type matches struct {
	kind                     string // files, dirs or any
	warnEmpty, failEmpty     bool
	warnTwice, keepDuplicate bool
}

// matchesOf returns what submit_fail_empty_matches and the like say.
func (r *reader) matchesOf(kind string) (m matches, err error) {
	m = matches{kind: kind, warnEmpty: true, warnTwice: true, failEmpty: r.options.FailEmptyMatches}
	for _, s := range []struct {
		name string
		to   *bool
	}{
		{"submit_warn_empty_matches", &m.warnEmpty}, {"submit_fail_empty_matches", &m.failEmpty},
		{"submit_warn_duplicate_matches", &m.warnTwice}, {"submit_allow_duplicate_matches", &m.keepDuplicate},
	} {
		text, at, err := r.setting(s.name)
		if err != nil {
			return m, err
		}
		if text == "" {
			continue
		}
		c, err := macro.ParseCondition(text)
		if err != nil {
			return m, at.errorf("%s: %s: want true or false", s.name, Shorten(text))
		}
		*s.to = c.Holds(r.defined, version)
	}
	if m.kind == "" {
		m.kind, err = r.kindOfMatches()
	}
	return m, err
}

// kindOfMatches returns what submit_match_directories says.
func (r *reader) kindOfMatches() (string, error) {
	const name = "submit_match_directories"
	text, at, err := r.setting(name)
	switch strings.ToLower(text) {
	case "", "yes", "true":
		return "any", err
	case "never", "no", "false":
		return "files", nil
	case "only":
		return "dirs", nil
	}
	return "", at.errorf("%s: %s: want yes, no or only", name, Shorten(text))
}

// setting returns the present value of a command that queue lines themselves use. Its
// name may be written without underscores.
func (r *reader) setting(name string) (text string, at origin, err error) {
	for _, key := range []string{name, strings.ReplaceAll(name, "_", "")} {
		if v, ok := r.vars[key]; ok {
			r.refer("$(" + key + ")")
			text, err = r.valueOf(v)
			return strings.TrimSpace(text), v.origin(), err
		}
	}
	return "", origin{}, nil
}

// matching returns the names that patterns match; folders end in a slash.
func (f *source) matching(l logical, kind, tail string) ([]string, error) {
	patterns, err := f.patterns(l, tail)
	if err != nil {
		return nil, err
	}
	if f.options.Glob == nil {
		return nil, errOutside
	}
	m, err := f.matchesOf(kind)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	for _, pattern := range patterns {
		names, err := f.options.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Shorten(pattern), err)
		}
		found := false
		for _, name := range names {
			if folder := strings.HasSuffix(name, "/"); m.kind == "files" && folder || m.kind == "dirs" && !folder {
				continue
			}
			found = true
			if seen[name] && !m.keepDuplicate {
				f.caution(m.warnTwice, l, "matching %s: %s is there already, left out", pattern, name)
				continue
			}
			seen[name] = true
			out = append(out, name)
		}
		switch {
		case found:
		case m.failEmpty:
			return nil, fmt.Errorf("%s: nothing matches", Shorten(pattern))
		default:
			f.caution(m.warnEmpty, l, "matching %s: nothing matches", pattern)
		}
	}
	return out, nil
}

// caution warns about matches of patterns, if wanted.
func (f *source) caution(wanted bool, l logical, format string, texts ...string) {
	var short []any
	for _, text := range texts {
		short = append(short, Shorten(text))
	}
	if wanted {
		f.note(Warning{Place: l.place(0), Msg: fmt.Sprintf(format, short...)})
	}
}

// patterns returns the patterns of a queue line; those on lines of their own may hold
// macros.
func (f *source) patterns(l logical, tail string) ([]string, error) {
	lines, err := f.list(l, tail)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, line := range lines {
		text, err := f.value(line, l.origin)
		if err != nil {
			return nil, err
		}
		out = append(out, macro.List(text)...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("matching: want patterns such as *.dat")
	}
	return out, nil
}

// table is how the lines of `from table` are made items of.
type table struct {
	header int // the row of names, from 0; -1: none
	skip   int // rows left out behind it, or at the beginning
	sep    string
}

// cutTable takes `table` with its options off the front of the text behind from. It is
// nil if table is the name of a file.
func cutTable(tail string) (t *table, rest string, err error) {
	const word = "table"
	if len(tail) < len(word) || !strings.EqualFold(tail[:len(word)], word) {
		return nil, tail, nil
	}
	rest = tail[len(word):]
	options := ""
	switch {
	case strings.HasPrefix(rest, "("):
		var closed bool
		if options, rest, closed = strings.Cut(rest[1:], ")"); !closed {
			return nil, "", fmt.Errorf("%s: its options are not closed by a parenthesis", Shorten(tail))
		}
	case rest == "" || !isBlank(rest[0]):
		return nil, tail, nil
	}
	t = &table{sep: ","}
	if err := t.set(options); err != nil {
		return nil, "", fmt.Errorf("table(%s): %w", Shorten(options), err)
	}
	return t, strings.TrimSpace(rest), nil
}

// set takes options such as header=0,skip=1,sep=;
func (t *table) set(options string) error {
	for _, option := range macro.List(options) {
		name, value, given := strings.Cut(option, "=")
		n, err := strconv.Atoi(value)
		switch name = strings.ToLower(name); {
		case name == "csv" && !given:
			t.header = -1
		case name == "header" && err == nil && n >= -1 && n < MaxJobs:
			t.header = n
		case name == "skip" && err == nil && n >= 0 && n < MaxJobs:
			t.skip = n
		case name == "sep" && len(value) == 1:
			t.sep = value
		case name == "sep" && strings.EqualFold(value, "tab"):
			t.sep = "\t"
		case name == "trim" && strings.EqualFold(value, "true"):
		case name == "trim" && strings.EqualFold(value, "false"):
			return errors.New("trim=false: blanks around a field never count here")
		default:
			return fmt.Errorf("%s: want csv, header=N, skip=N, trim=true or sep=C", Shorten(option))
		}
	}
	return nil
}

// rows takes the rows of items off lines, and the names in the header row if
// there is one.
func (t *table) rows(lines []string) (items, names []string, err error) {
	if t.header >= 0 {
		if t.header >= len(lines) {
			return nil, nil, fmt.Errorf("table: no row %d with the names, of %d", t.header, len(lines))
		}
		for _, name := range strings.Split(lines[t.header], t.sep) {
			names = append(names, trimItem(name))
		}
		lines = lines[t.header+1:]
	}
	for _, line := range lines[min(t.skip, len(lines)):] {
		items = append(items, strings.ReplaceAll(line, t.sep, unitSeparator))
	}
	return items, names, nil
}
