package userlog

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// OneLine keeps text from ending its line, and so from forging an event.
func OneLine(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(text)
}

// appendLines appends lines, each behind an indent. One that would end the
// event, or begin another, is moved in.
func appendLines(b []byte, indent string, lines []string) []byte {
	for _, line := range lines {
		line = OneLine(line)
		b = append(b, indent...)
		if indent == "" && (isEnd(line) || isHeader(line)) {
			b = append(b, '\t')
		}
		b = append(append(b, line...), '\n')
	}
	return b
}

// isEnd reports whether a line without its line break ends an event.
func isEnd[T string | []byte](line T) bool { return string(line) == "..." }

// lines are the lines of an event after the first that are not yet understood.
type lines struct{ rest []string }

// next returns the next line without its indent, and false at the end.
func (l *lines) next() (string, bool) {
	if len(l.rest) == 0 {
		return "", false
	}
	return strings.TrimLeft(l.rest[0], " \t"), true
}

// skip goes on behind the next line.
func (l *lines) skip() { l.rest = l.rest[1:] }

// take returns what stands between two texts on the next line and goes on
// behind it; false if the line is another.
func (l *lines) take(before, behind string) (string, bool) {
	line, ok := l.next()
	if ok {
		line, ok = between(line, before, behind)
	}
	if ok {
		l.skip()
	}
	return line, ok
}

// scan reads the next line by a format of package fmt, as a whole, and goes on
// behind it; false, and nothing read, if the line is another.
func (l *lines) scan(format string, to ...*int) bool {
	line, ok := l.next()
	if !ok || !scan(line, format, to...) {
		return false
	}
	l.skip()
	return true
}

// indented takes the lines that begin with an indent and pass, without it.
func (l *lines) indented(indent string, pass func(string) bool) []string {
	var taken []string
	for len(l.rest) > 0 {
		line, ok := strings.CutPrefix(l.rest[0], indent)
		if !ok || pass != nil && !pass(line) {
			break
		}
		taken = append(taken, line)
		l.skip()
	}
	return taken
}

// reason takes the next line, if there is one, as a text.
func (l *lines) reason() string {
	line, ok := l.next()
	if !ok {
		return ""
	}
	if l.rest[0] != "\t"+line && strings.HasPrefix(l.rest[0], "\t") {
		line = l.rest[0][1:] // its own blanks
	}
	l.skip()
	return line
}

func between(line, before, behind string) (string, bool) {
	line, ok := strings.CutPrefix(line, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(line, behind)
}

// scan reads a line in which each %d means a number, eight at most.
func scan(line, format string, to ...*int) bool {
	var numbers [8]int // more than any line has
	for i := range to {
		at := strings.IndexByte(format, '%')
		before, behind := format[:at], format[at+len("%d"):]
		rest, ok := strings.CutPrefix(line, before)
		if !ok {
			return false
		}
		n := digits(rest)
		v, ok := number(rest[:n])
		if !ok {
			return false
		}
		numbers[i], line, format = v, rest[n:], behind
	}
	if line != format {
		return false
	}
	for i := range to {
		*to[i] = numbers[i]
	}
	return true
}

// number reads a number that digits has found.
func number(text string) (int, bool) {
	if len(text) > 4 || strings.HasPrefix(text, "-") {
		v, err := strconv.Atoi(text)
		return v, err == nil
	}
	v := 0
	for i := range len(text) {
		v = 10*v + int(text[i]-'0')
	}
	return v, text != ""
}

// digits returns how many bytes of text are a number, with its sign.
func digits(text string) int {
	n := 0
	for n < len(text) && (text[n] >= '0' && text[n] <= '9' || n == 0 && text[n] == '-') {
		n++
	}
	return n
}

// appendText appends a line with one text in it.
func appendText(b []byte, before, text, behind string) []byte {
	return append(append(append(append(b, before...), OneLine(text)...), behind...), '\n')
}

// appendCount appends a text and a number. A log of many jobs is read by writing
// its events again: package fmt takes several times as long.
func appendCount(b []byte, before string, n int64) []byte {
	return strconv.AppendInt(append(b, before...), n, 10)
}

// appendReason appends a line with a reason, if there is one.
func appendReason(b []byte, reason string) []byte {
	if reason == "" {
		return b
	}
	return appendText(b, "\t", reason, "")
}

func appendCodes(b []byte, code, subcode int) []byte {
	return append(appendCount(appendCount(b, "\tCode ", int64(code)), " Subcode ", int64(subcode)), '\n')
}

// Resource is a row of the table behind event 005: the job's use, request and allocation
// of a resource. All are as written; empty if unknown.
type Resource struct {
	Name                      string // such as "Cpus" or "Memory (MB)"
	Usage, Request, Allocated string
	Assigned                  string // which ones, where they have names
}

// ResourceTable returns the rows as lines for Event.More, none for no rows. There is a
// column of names only where a row has some.
func ResourceTable(rows []Resource) (lines []string) {
	if len(rows) == 0 {
		return nil
	}
	head := Resource{"Partitionable Resources", "Usage", "Request", "Allocated", ""}
	w := widths{20, 8, 8, 9}
	for _, r := range rows {
		w.fit(r)
		if r.Assigned != "" {
			head.Assigned = "Assigned"
		}
	}
	lines = append(lines, "\t"+w.line(head, "", head.Assigned != ""))
	for _, r := range rows {
		lines = append(lines, "\t"+w.line(r, "   ", head.Assigned != ""))
	}
	return lines
}

// widths are the widths of the table's columns.
type widths struct{ name, usage, request, allocated int }

func (w *widths) fit(r Resource) {
	w.name, w.usage = max(w.name, utf8.RuneCountInString(r.Name)), max(w.usage, utf8.RuneCountInString(r.Usage))
	w.request = max(w.request, utf8.RuneCountInString(r.Request))
	w.allocated = max(w.allocated, utf8.RuneCountInString(r.Allocated))
}

func (w widths) line(r Resource, indent string, assigned bool) string {
	text := fmt.Sprintf("%s%-*s : %*s %*s %*s", indent, len("   ")+w.name-len(indent), r.Name, w.usage, r.Usage, w.request, r.Request, w.allocated, r.Allocated)
	if assigned {
		text += " " + r.Assigned
	}
	return text
}
