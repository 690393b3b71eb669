package submitfile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/macro"
)

// MaxJobs bounds the jobs of one description.
const MaxJobs = 10_000_000

// queue is a queue line.
type queue struct {
	at    origin
	text  string // as written, without "queue"
	count int    // jobs for each item
	vars  []string
	keys  []string // vars in lower case
	items items
	// unnamed says that the queue line itself has no variables.
	unnamed bool
}

// items are the items of a queue line. A line without any counts as having one.
type items struct {
	given bool
	lines []string
	where *written // nil: nothing is known but the queue line
	// Item i of the slice is line first + i*step.
	first, step, n int
	// Of a thawed description lines are the slice's items from this one on.
	thawed bool
	window int
}

func (it items) len() int {
	if !it.given {
		return 1
	}
	return it.n
}

// line returns the number of item i among all, and its text.
func (it items) line(i int) (row int, text string) {
	if !it.given {
		return 0, ""
	}
	row = it.first + i*it.step
	if it.thawed {
		return row, it.lines[i-it.window]
	}
	return row, it.lines[row]
}

func (q *queue) jobs() int { return q.count * q.items.len() }

// label is the queue line in messages.
func (q *queue) label() string { return label(q.text) }

func label(text string) string {
	return strings.TrimSpace("queue " + Shorten(strings.TrimSpace(text)))
}

// queueLine reads `queue [count] [vars] [in|from|matching ...]` and finds its
// items.
func (f *source) queueLine(l, rest logical) error {
	r := f.reader
	if err := r.given(r.options.Append, func(a *Assignment) { a.Appended = true }); err != nil {
		return err
	}
	r.hasQueue = true
	q := &queue{at: l.origin, text: rest.text}
	words, err := r.value(rest.text, rest.origin)
	if err != nil {
		return err
	}
	head, keyword, tail := cutKeyword(words)
	if err := r.head(q, head, keyword != ""); err != nil {
		return rest.wrap(err)
	}
	if keyword != "" {
		if err := f.foreach(q, l, keyword, tail); err != nil {
			return rest.at(words, keyword, tail).wrap(err)
		}
	}
	if q.items.len() > 0 && q.count > (MaxJobs-r.jobs)/q.items.len() {
		return l.errorf("%s: more than %d jobs in one cluster", q.label(), MaxJobs)
	}
	r.jobs += q.jobs()
	r.statements = append(r.statements, statement{queue: q})
	return nil
}

// at returns the line from the keyword on, for messages; if macros were put into it, all
// of the line, as the place is unknown then.
func (l logical) at(words, keyword, tail string) logical {
	if words != l.text {
		return l
	}
	before := words[:len(strings.TrimRight(words, " \t"))-len(tail)]
	return l.cut(max(strings.LastIndex(strings.ToLower(before), keyword), 0))
}

// cutKeyword parts a queue line at in, from or matching. Without one all of it
// is head. Behind a comma such a word is a variable if another one follows it.
func cutKeyword(text string) (head, keyword, tail string) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth != 0 || i > 0 && !isBlank(text[i-1]) && text[i-1] != ',' && text[i-1] != ')' {
			continue
		}
		end := i
		for end < len(text) && isNameByte(text[end]) {
			end++
		}
		if end < len(text) && !isBlank(text[end]) && text[end] != '(' && text[end] != '[' {
			continue
		}
		word := strings.ToLower(text[i:end])
		if word != "in" && word != "from" && word != "matching" {
			continue
		}
		before := strings.TrimSpace(text[:i])
		variable := strings.HasSuffix(before, ",") // if another keyword follows
		if keyword == "" || !variable {
			head, keyword, tail = before, word, strings.TrimSpace(text[end:])
		}
		if !variable {
			break
		}
	}
	if keyword == "" {
		head = strings.TrimSpace(text)
	}
	return head, keyword, tail
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// head reads the count and, when items follow, the variables.
func (r *reader) head(q *queue, head string, each bool) (err error) {
	count := head
	if each {
		head = strings.TrimRight(head, " \t,")
		count = head[:variablesAt(head)]
		vars := macro.List(head[len(count):])
		if q.unnamed = len(vars) == 0; q.unnamed {
			vars = []string{"Item"}
		}
		if err := q.setVars(vars); err != nil {
			return fmt.Errorf("%s: %w", q.label(), err)
		}
	}
	q.count, err = jobCount(strings.TrimRight(count, " \t,"))
	if err != nil {
		if !each && variablesAt(count) < len(count) {
			err = errors.New("want a number of jobs, or variables followed by in, from or matching")
		}
		return fmt.Errorf("%s: %w", q.label(), err)
	}
	return nil
}

// maxVars bounds the variables of a queue line.
const maxVars = 1000

// setVars sets the variables.
func (q *queue) setVars(names []string) error {
	if len(names) > maxVars {
		return fmt.Errorf("more than %d variables", maxVars)
	}
	q.vars, q.keys = names, nil
	for _, name := range names {
		key := strings.ToLower(name)
		switch {
		case !isVariable(name):
			return fmt.Errorf("%q: not a name for a variable", Shorten(name))
		case key == "dollar":
			return fmt.Errorf("%s: is always a dollar sign: want another name for the variable", name)
		}
		q.keys = append(q.keys, key)
	}
	return nil
}

// isVariable reports whether a variable may have the name: letters, digits,
// underscores and dots, no digit first.
func isVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isNameByte(c) || i == 0 && ('0' <= c && c <= '9' || c == '.') {
			return false
		}
	}
	return name != ""
}

// variablesAt returns where the variables begin: the names, parted by blanks and
// commas, at the end of the head. What stands before is the count.
func variablesAt(head string) int {
	at := len(head)
	for i := len(head); i > 0; {
		end := i
		for i > 0 && isNameByte(head[i-1]) {
			i--
		}
		if end == i || i > 0 && !isSeparator(head[i-1]) && head[i-1] != ')' {
			break
		}
		if !isVariable(head[i:end]) {
			break
		}
		at = i
		for i > 0 && isSeparator(head[i-1]) {
			i--
		}
	}
	return at
}

func isSeparator(c byte) bool { return isBlank(c) || c == ',' }

// jobCount returns the number of jobs that a text asks for: a constant
// expression, or 1 without any.
func jobCount(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		if text[0] == '-' {
			n = -1
		} else {
			n = MaxJobs + 1
		}
	} else if err != nil {
		e, parseErr := classad.ParseExpr(text)
		if parseErr != nil {
			return 0, errors.New("want a number of jobs")
		}
		v, constant := e.Constant()
		if !constant {
			v = e.Eval(&classad.Context{MaxSteps: maxSteps}, nil, nil)
		}
		x, ok := v.Number()
		if !ok || x != math.Trunc(x) {
			return 0, errors.New("want a number of jobs")
		}
		n = int64(min(max(x, -1), MaxJobs+1))
	}
	switch {
	case n < 0:
		return 0, errors.New("a negative number of jobs")
	case n > MaxJobs:
		return 0, fmt.Errorf("more than %d jobs in one cluster", MaxJobs)
	}
	return int(n), nil
}

// maxSteps bounds the evaluation of a count.
const maxSteps = 100_000

// unitSeparator separates the fields of an item if the fields contain blanks or commas.
const unitSeparator = "\x1f"

// fields splits an item for n variables: at unit separators, else at commas and blanks,
// with the rest in the last one. Missing fields are empty. Surplus fields are dropped if
// unit separators separate them.
func fields(text string, n int) []string {
	out := make([]string, n)
	if strings.Contains(text, unitSeparator) {
		for i := range out {
			var field string
			field, text, _ = strings.Cut(text, unitSeparator)
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

// trimItem trims blanks from an item; a unit separator counts as none.
func trimItem(line string) string { return strings.Trim(line, " \t\r\v\f") }

// slice is [start:end:step]; each may be missing. [start] is [start:], as HTCondor reads
// it.
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

// isSlice reports whether what stands in brackets is a slice, be it a wrong one.
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
