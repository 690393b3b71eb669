package submitfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/macro"
)

// foreach finds the items of a queue line.
func (f *source) foreach(q *queue, l logical, keyword, tail string) (err error) {
	kind := ""
	if keyword == "matching" {
		kind, tail = matchingKind(tail)
	}
	cut, tail, err := cutSlice(tail)
	if err != nil {
		return fmt.Errorf("%s: %w", q.label(), err)
	}
	q.items.given = true
	switch keyword {
	case "in":
		q.items.lines, err = f.listed(l, tail)
	case "from":
		q.items.lines, err = f.from(l, tail)
	default:
		q.items.lines, err = f.matching(l, kind, tail)
	}
	if err != nil {
		if isPlaced(err) {
			return err
		}
		return fmt.Errorf("%s: %w", q.label(), err)
	}
	q.items.first, q.items.step, q.items.n = cut.of(len(q.items.lines))
	return nil
}

// opensItems tells whether the rest of a queue line opens a list that
// goes on in the lines below.
func opensItems(rest string) bool {
	_, keyword, tail := cutKeyword(rest)
	return keyword != "" && strings.HasSuffix(tail, "(")
}

// itemLines returns the lines of a list up to that which begins with the
// closing parenthesis.
func (f *source) itemLines(l logical) ([]string, error) {
	var out []string
	for {
		item, ok := f.next()
		if !ok {
			return nil, l.errorf("%s: no line that begins with ) ends the list", Shorten(l.text))
		}
		if strings.HasPrefix(item.text, ")") {
			return out, nil
		}
		out = append(out, item.text)
	}
}

// block returns the lines of a list in parentheses, on this line or on those
// below. ok is false when there are no parentheses.
func (f *source) block(l logical, tail string) (lines []string, ok bool, err error) {
	inner, ok := strings.CutPrefix(tail, "(")
	if !ok {
		return nil, false, nil
	}
	inner = strings.TrimSpace(inner)
	if inner, closed := strings.CutSuffix(inner, ")"); closed {
		if inner = strings.TrimSpace(inner); inner != "" {
			lines = []string{inner}
		}
		return lines, true, nil
	}
	more, err := f.itemLines(l)
	if inner != "" {
		more = slices.Insert(more, 0, inner)
	}
	return more, true, err
}

// listed returns the items of `in`, parted by commas and blanks.
func (f *source) listed(l logical, tail string) ([]string, error) {
	lines, ok, err := f.block(l, tail)
	if err != nil {
		return nil, err
	}
	if !ok {
		lines = []string{tail}
	}
	var out []string
	for _, line := range lines {
		out = append(out, macro.List(line)...)
	}
	return out, nil
}

// from returns the items of `from`: the lines of a list, of a file, of what a
// command prints or of standard input.
func (f *source) from(l logical, tail string) ([]string, error) {
	if lines, ok, err := f.block(l, tail); ok || err != nil {
		return lines, err
	}
	text, err := f.fromOutside(tail)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	out := lines[:0]
	for _, line := range lines {
		if line = trimItem(line); line != "" {
			out = append(out, line)
		}
	}
	return out, nil
}

// trimItem takes blanks off an item; a unit separator is none.
func trimItem(line string) string { return strings.Trim(line, " \t\r\v\f") }

func (f *source) fromOutside(tail string) (text string, err error) {
	command, isCommand := strings.CutSuffix(tail, "|")
	switch {
	case isCommand:
		return f.run(strings.TrimSpace(command))
	case tail == "":
		return "", fmt.Errorf("from: want a file, a command and |, or a list in parentheses")
	case tail == "-":
		if f.stdin == nil {
			return "", fmt.Errorf("standard input is not there to be read for items")
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
	return "any", tail
}

// matching returns the names that patterns match: those of folders end in a
// slash.
func (f *source) matching(l logical, kind, tail string) ([]string, error) {
	patterns, err := f.listed(l, tail)
	if err != nil {
		return nil, err
	}
	if len(patterns) == 0 {
		return nil, fmt.Errorf("matching: want patterns such as *.dat")
	}
	if f.options.Glob == nil {
		return nil, errOutside
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
			if folder := strings.HasSuffix(name, "/"); kind == "files" && folder || kind == "dirs" && !folder {
				continue
			}
			found = true
			if seen[name] {
				f.note(Warning{l.place(0), fmt.Sprintf("matching %s: %s is there already, left out", Shorten(pattern), Shorten(name))})
				continue
			}
			seen[name] = true
			out = append(out, name)
		}
		if !found {
			if f.failEmpty() {
				return nil, fmt.Errorf("%s: nothing matches", Shorten(pattern))
			}
			f.note(Warning{l.place(0), fmt.Sprintf("matching %s: nothing matches", Shorten(pattern))})
		}
	}
	return out, nil
}

// failEmpty tells whether a pattern that nothing matches is an error.
func (r *reader) failEmpty() bool {
	if v, ok := r.vars["submit_fail_empty_matches"]; ok {
		text, err := r.value(v.text, v.at)
		c, bad := macro.ParseCondition(text)
		return err == nil && bad == nil && c.Holds(r.defined, version)
	}
	return r.options.FailEmptyMatches
}

// slice is [start:end:step], of which any may be missing.
type slice struct {
	start, end, step *int
	single           bool // [start]
}

// cutSlice takes a slice off the front.
func cutSlice(tail string) (slice, string, error) {
	if !strings.HasPrefix(tail, "[") {
		return slice{}, tail, nil
	}
	inner, rest, ok := strings.Cut(tail[1:], "]")
	fields := strings.Split(inner, ":")
	if !ok || len(fields) > 3 {
		return slice{}, "", fmt.Errorf("%s: want a slice such as [2:10:2]", Shorten(tail))
	}
	s := slice{single: len(fields) == 1}
	for i, to := range []**int{&s.start, &s.end, &s.step} {
		if i >= len(fields) || strings.TrimSpace(fields[i]) == "" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(fields[i]))
		if err != nil || i == 2 && n < 1 {
			return slice{}, "", fmt.Errorf("[%s]: want a slice such as [2:10:2], of whole numbers, the last above 0", Shorten(inner))
		}
		*to = &n
	}
	if s.single && s.start == nil {
		return slice{}, "", fmt.Errorf("[%s]: want a slice such as [2:10:2]", Shorten(inner))
	}
	return s, strings.TrimSpace(rest), nil
}

// of returns which of so many items the slice picks: the first, every
// so-manieth, and how many.
func (s slice) of(all int) (first, step, n int) {
	bound := func(p *int, otherwise int) int {
		if p == nil {
			return otherwise
		}
		if *p < 0 {
			return max(*p+all, 0)
		}
		return min(*p, all)
	}
	first, step = bound(s.start, 0), 1
	end := bound(s.end, all)
	if s.single {
		if *s.start < -all || *s.start >= all {
			return 0, 1, 0
		}
		end = first + 1
	}
	if s.step != nil {
		step = *s.step
	}
	if end <= first {
		return 0, 1, 0
	}
	return first, step, (end-first-1)/step + 1
}

// unitSeparator parts the fields of an item whose fields have blanks or
// commas in them.
const unitSeparator = "\x1f"

// fields parts an item for so many variables: at unit separators, else at
// commas and blanks, the last one taking the rest. What is missing is empty.
func fields(text string, n int) []string {
	out := make([]string, n)
	if n == 1 {
		out[0] = text
		return out
	}
	if strings.Contains(text, unitSeparator) {
		for i, field := range strings.SplitN(text, unitSeparator, n) {
			out[i] = trimItem(field)
		}
		return out
	}
	for i := range out {
		if i == n-1 {
			out[i] = strings.TrimSpace(text)
			break
		}
		end := strings.IndexAny(text, ", \t")
		if end < 0 {
			out[i] = text
			break
		}
		out[i] = text[:end]
		text = afterSeparator(text[end:])
	}
	return out
}

// afterSeparator passes over blanks with at most one comma among them.
func afterSeparator(text string) string {
	text = strings.TrimLeft(text, " \t")
	if rest, ok := strings.CutPrefix(text, ","); ok {
		text = strings.TrimLeft(rest, " \t")
	}
	return text
}
