package submitfile

import (
	"strings"
)

// later ends the sentence about everything that the language has and this
// version does not serve.
const later = "not part of this version"

// logicalLine is a line with those that continue it, and where it began.
type logicalLine struct {
	number int
	text   string
}

// logicalLines takes comments, blank lines, carriage returns and
// continuations out of text. Blanks at either end of a line do not count,
// also where it is continued; a comment between continued lines is dropped.
func logicalLines(text string) []logicalLine {
	var out []logicalLine
	open := false // the last line of out is to be continued
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !open && line == "" {
			continue
		}
		if !open {
			out = append(out, logicalLine{number: i + 1})
		}
		last := &out[len(out)-1]
		line, open = strings.CutSuffix(line, `\`)
		last.text += line
	}
	return out
}

// byteOrderMark is what some editors put in front of a text.
const byteOrderMark = "\uFEFF"

// read turns text into steps, refusing what is not served.
func (d *Description) read(text string) error {
	text = strings.TrimPrefix(text, byteOrderMark)
	if i := strings.IndexByte(text, 0); i >= 0 {
		return d.errorf(1+strings.Count(text[:i], "\n"), "a NUL byte: not a text file")
	}
	current := map[string]string{} // values so far, for self references
	for _, l := range logicalLines(text) {
		s, err := d.statement(l)
		if err != nil {
			return err
		}
		if !s.queue {
			key := strings.ToLower(s.name)
			s.text = foldSelf(s.text, key, current)
			if len(s.text) > maxText {
				return d.errorf(s.line, "%s: longer than %d bytes", s.name, maxText)
			}
			current[key] = s.text
		}
		d.steps = append(d.steps, s)
	}
	for _, s := range d.steps {
		if s.queue {
			return nil
		}
	}
	return d.errorf(0, "no queue statement, so no jobs")
}

// statement reads one line.
func (d *Description) statement(l logicalLine) (step, error) {
	word, rest := firstWord(l.text)
	switch {
	case strings.HasPrefix(rest, "="):
		return d.assignment(l.number, word, strings.TrimSpace(rest[1:]))
	case strings.HasPrefix(rest, "@="):
		return step{}, d.errorf(l.number, "%s @=: values of several lines are %s", word, later)
	}
	switch keyword := strings.ToLower(strings.TrimPrefix(word, "@")); keyword {
	case "queue":
		return d.queueStatement(l.number, rest)
	case "if", "elif", "else", "endif", "include", "use":
		return step{}, d.errorf(l.number, "%s: %s", keyword, later)
	case "error", "warning":
		if strings.HasPrefix(rest, ":") {
			return step{}, d.errorf(l.number, "%s: %s", keyword, later)
		}
	}
	return step{}, d.errorf(l.number, "%q: want NAME = value, or queue", shorten(l.text))
}

// firstWord cuts a name off the front of a line. The name may begin with "+"
// or "@"; the rest comes without blanks in front.
func firstWord(text string) (word, rest string) {
	i := 0
	for i < len(text) && (isNameByte(text[i]) || i == 0 && (text[i] == '+' || text[i] == '@')) {
		i++
	}
	return text[:i], strings.TrimLeft(text[i:], " \t")
}

func isNameByte(c byte) bool {
	return c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (d *Description) assignment(line int, name, text string) (step, error) {
	if attr, ok := customName(name); ok {
		if !isAttributeName(attr) {
			return step{}, d.errorf(line, "%s: %q is no name of an attribute", name, attr)
		}
		if isProtected(attr) {
			return step{}, d.errorf(line, "%s: submit itself sets this attribute", name)
		}
		return step{line: line, name: "MY." + attr, text: text}, nil
	}
	if !isMacroName(name) {
		return step{}, d.errorf(line, "%q: not a name", name)
	}
	if why, refused := refusal(name); refused {
		return step{}, d.errorf(line, "%s: %s", name, why)
	}
	return step{line: line, name: name, text: text}, nil
}

// customName returns the attribute's name of +Name and MY.Name.
func customName(name string) (string, bool) {
	if attr, ok := strings.CutPrefix(name, "+"); ok {
		return attr, true
	}
	if len(name) > 3 && strings.EqualFold(name[:3], "MY.") {
		return name[3:], true
	}
	return "", false
}

func isAttributeName(name string) bool {
	return isMacroName(name) && !strings.Contains(name, ".")
}

// isMacroName tells whether $(name) can refer to name.
func isMacroName(name string) bool {
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return name != "" && (name[0] < '0' || name[0] > '9')
}

// queueStatement takes what follows "queue": nothing or a number of jobs,
// which may be an expression. Lists of items are refused.
func (d *Description) queueStatement(line int, rest string) (step, error) {
	if strings.Contains(rest, "[") {
		return step{}, d.errorf(line, "queue with a slice: %s", later)
	}
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return !isNameByte(byte(r)) || r > 0x7f }) {
		switch w := strings.ToLower(word); w {
		case "in", "from", "matching":
			return step{}, d.errorf(line, "queue %s: %s", w, later)
		}
	}
	return step{line: line, queue: true, text: rest}, nil
}

// shorten keeps a quoted line readable in a message.
func shorten(text string) string {
	if len(text) > 60 {
		return text[:57] + "..."
	}
	return text
}
