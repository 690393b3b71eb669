package condorconfig

import "strings"

// lines takes a text apart into the lines of the language.
type lines struct {
	rest string
	at   int // number of the last physical line
}

// physical returns the next line of the file without blanks at its ends.
func (l *lines) physical() (text string, ok bool) {
	if l.rest == "" {
		return "", false
	}
	text, l.rest, _ = strings.Cut(l.rest, "\n")
	l.at++
	return strings.TrimSpace(text), true
}

// next returns the next line that says something, with those that continue it, and
// the number of its first. A comment within a continued line is passed over, and a
// backslash at the end of a comment continues nothing.
func (l *lines) next() (text string, number int, ok bool) {
	var b strings.Builder
	for {
		part, more := l.physical()
		if !more {
			return strings.TrimSpace(b.String()), number, number > 0
		}
		if strings.HasPrefix(part, "#") || part == "" && number == 0 {
			continue
		}
		if number == 0 {
			number = l.at
		}
		part, continued := strings.CutSuffix(part, `\`)
		b.WriteString(part)
		if !continued {
			return strings.TrimSpace(b.String()), number, true
		}
	}
}

// until returns the lines up to the one that is `@tag`. closed is false when the
// text ends before.
func (l *lines) until(tag string) (text string, closed bool) {
	var value []string
	for l.rest != "" {
		line, rest, _ := strings.Cut(l.rest, "\n")
		l.rest = rest
		l.at++
		if strings.TrimSpace(line) == "@"+tag {
			return strings.Join(value, "\n"), true
		}
		value = append(value, strings.TrimRight(line, "\r"))
	}
	return strings.Join(value, "\n"), false
}
