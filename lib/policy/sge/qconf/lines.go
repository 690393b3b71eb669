package qconf

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Note is a problem of a line.
type Note struct {
	Line int // from 1
	Text string
}

// mostNotes keeps a file that is something else from filling the memory. At most a
// thousand warnings of a file are printed, with the number of all.
const mostNotes = 500

// lines splits a text into lines, and collects their problems.
type lines struct {
	rest   string
	number int // of the lines that were taken from rest
	notes  []Note
	more   int  // notes beyond mostNotes
	some   bool // there is a line that is no comment
	open   bool // the last line has no end
	// heading, ruler and ending are the seen parts of -sc's output around its rows.
	heading, ruler, ending bool
}

func newLines(text string) *lines {
	return &lines{rest: strings.TrimPrefix(text, "\uFEFF")}
}

// line is one line with those that it goes on in.
type line struct {
	number int // of the first
	text   string
}

// note reports a problem of a line.
func (l *lines) note(line int, format string, values ...any) {
	if len(l.notes) >= mostNotes {
		l.more++
		return
	}
	l.notes = append(l.notes, Note{line, fmt.Sprintf(format, values...)})
}

// next returns the next line that is neither blank nor a comment, without blanks around
// it. A "\" before the end of a line and that end are one blank together (share_tree(5)).
func (l *lines) next() (line, bool) {
	for l.rest != "" {
		number := l.number + 1
		text := l.cut()
		if strings.HasPrefix(text, "#") {
			l.comment(text)
			continue
		}
		if strings.HasSuffix(text, `\`) {
			text = l.join(text)
		}
		if text != "" {
			l.some = true
			return line{number, text}, true
		}
	}
	return line{}, false
}

// cut takes a line from rest.
func (l *lines) cut() string {
	text, rest, _ := strings.Cut(l.rest, "\n")
	whole := strings.HasSuffix(l.rest, "\n") || rest != ""
	l.rest, l.number = rest, l.number+1
	broken := !utf8.ValidString(text)
	text = strings.TrimSpace(printable(text))
	if broken && !strings.HasPrefix(text, "#") {
		l.note(l.number, "not UTF-8: what cannot be read counts as blanks, also in names")
	}
	l.open = !whole && text != ""
	return text
}

// join returns a line that ends with a "\" with all that it goes on in.
func (l *lines) join(text string) string {
	var parts []string
	for {
		before, more := strings.CutSuffix(text, `\`)
		if before = strings.TrimSpace(before); before != "" {
			parts = append(parts, before)
		}
		if !more {
			return strings.Join(parts, " ")
		}
		if l.rest == "" {
			l.note(l.number, `ends with "\", and no line comes after it: is the file cut off?`)
			l.open = false
			return strings.Join(parts, " ")
		}
		text = l.cut()
	}
}

// comment notices what -sc prints before and behind its rows.
func (l *lines) comment(text string) {
	switch {
	case strings.HasPrefix(text, "#name "):
		l.heading = true
	case strings.HasPrefix(text, "#---"):
		l.ruler = true
	case strings.Contains(text, ">#<"):
		l.ending = true
	}
}

// done returns the notes, in the order of the lines. qconf ends every line, so that one
// without an end may be the half of one.
func (l *lines) done() []Note {
	switch {
	case !l.some:
		l.note(max(l.number, 1), "the file is empty: did qconf fail?")
	case l.open:
		l.note(l.number, "the last line has no end: is the file cut off?")
	}
	slices.SortStableFunc(l.notes, func(a, b Note) int { return a.Line - b.Line })
	if l.more > 0 {
		l.notes = append(l.notes, Note{max(l.number, 1), fmt.Sprintf("%d more notes", l.more)})
	}
	return l.notes
}

// printable replaces unprintable characters by blanks: tabs, carriage returns and broken
// letters, too.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// mostShown is how much a note shows of a text, in bytes: a line may be as long as the file.
const mostShown = 60

// shown returns a text as a note shows it.
func shown(text string) string {
	if len(text) > mostShown {
		text = strings.ToValidUTF8(text[:mostShown], "") + "..."
	}
	return text
}

// List reads names with commas or blanks between them; NONE, in any case, is the empty
// list.
func List(value string) []string {
	if strings.EqualFold(value, "NONE") {
		return nil
	}
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// columns are the columns of qconf -sc (complex(5)).
var columns = strings.Fields("name shortcut type relop requestable consumable default urgency")

// ReadComplexes reads the table that qconf -sc prints: one resource on a line, in eight
// columns, which are the Attributes except the first.
func ReadComplexes(text string) ([]Record, []Note) {
	r := newLines(text)
	var list []Record
	for l, ok := r.next(); ok; l, ok = r.next() {
		words := strings.Fields(l.text)
		if len(words) != len(columns) {
			r.note(l.number, "%s: want %d columns, not %d: %s", shown(words[0]), len(columns), len(words), strings.Join(columns, ", "))
			continue
		}
		one := Record{Name: words[0], Line: l.number, Attributes: make([]Attribute, 0, len(columns)-1)}
		for i, value := range words[1:] {
			one.Attributes = append(one.Attributes, Attribute{columns[i+1], value, l.number})
		}
		list = append(list, one)
	}
	// A line of its own ends what qconf prints. Whoever took the heading out may have
	// taken out that, too.
	if r.some && r.heading && r.ruler && !r.ending {
		r.note(r.number, `the table's last line "# >#< ..." is missing: is the file cut off?`)
	}
	return list, r.done()
}
