package submitfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/macro"
)

// MaxJobs bounds the jobs of one description.
const MaxJobs = 10_000_000

// queue is what a queue line asks for.
type queue struct {
	at    origin
	text  string // as written, without "queue"
	count int    // jobs for each item
	vars  []string
	keys  []string // vars in lower case
	items items
}

// items are what a queue line goes through. Without any it is as if there
// were one.
type items struct {
	given bool
	lines []string
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
	if err := r.given(r.appending(), func(a *Assignment) { a.Appended = true }); err != nil {
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
		return l.wrap(err)
	}
	if keyword != "" {
		if err := f.foreach(q, l, keyword, tail); err != nil {
			return l.wrap(err)
		}
	}
	if q.items.len() > 0 && q.count > (MaxJobs-r.jobs)/q.items.len() {
		return l.errorf("%s: more than %d jobs in one cluster", q.label(), MaxJobs)
	}
	r.jobs += q.jobs()
	r.statements = append(r.statements, statement{queue: q})
	return nil
}

// appending returns the lines of -append, once for each queue line, and
// none for themselves.
func (r *reader) appending() []string {
	if r.appended {
		return nil
	}
	return r.options.Append
}

// cutKeyword parts a queue line at in, from or matching. Without one all of it
// is head.
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
		switch word := strings.ToLower(text[i:end]); word {
		case "in", "from", "matching":
			return strings.TrimSpace(text[:i]), word, strings.TrimSpace(text[end:])
		}
	}
	return strings.TrimSpace(text), "", ""
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// head reads the count and, when items follow, the variables.
func (r *reader) head(q *queue, head string, each bool) (err error) {
	count := head
	if each {
		count = head[:variablesAt(head)]
		q.vars = macro.List(head[len(count):])
		if len(q.vars) == 0 {
			q.vars = []string{"Item"}
		}
		for _, v := range q.vars {
			if !macro.IsName(v) {
				return fmt.Errorf("%s: %q: not a name", q.label(), Shorten(v))
			}
			q.keys = append(q.keys, strings.ToLower(v))
		}
	}
	q.count, err = jobCount(strings.TrimRight(count, " \t,"))
	if err != nil {
		return fmt.Errorf("%s: %w", q.label(), err)
	}
	return nil
}

// variablesAt returns where the variables begin: with the first word that
// begins with a letter, outside the parentheses of the count.
func variablesAt(head string) int {
	depth := 0
	for i := 0; i < len(head); i++ {
		c := head[i]
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && isNameByte(c) && (c < '0' || c > '9') && c != '.' && (i == 0 || isBlank(head[i-1]) || head[i-1] == ',' || head[i-1] == ')'):
			return i
		}
	}
	return len(head)
}

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
		if i, ok := v.Int(); !ok {
			return 0, errors.New("want a number of jobs")
		} else if n = i; n > MaxJobs {
			n = MaxJobs + 1
		}
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
