package mauicfg

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is one parameter with its value.
type Line struct {
	Number   int    // the line on which it begins, from 1
	Name     string // of the parameter; in upper case unless Options.Compatible
	Written  string // the name as it stands there
	Index    string // what stands in brackets behind the name
	HasIndex bool
	Value    string // without blanks at its ends
}

// Note is a problem of a line.
type Note struct {
	Line int // from 1
	Text string
}

// Options say how to read.
type Options struct {
	// Compatible reads what Maui 3.3.1 does and no more: names keep their case, and
	// lines that begin with a blank do not count.
	Compatible bool
}

// Read returns the lines of a maui.cfg that set something, and what could not be read.
// "#" begins a comment, wherever it stands; a line that ends with "\" goes on in the next;
// a "=" may stand between name and value. Characters that cannot be printed count as
// blanks. Maui's manual, appendix F, and what 3.3.1 does.
func Read(text string, o Options) ([]Line, []Note) {
	var notes []Note
	pieces := logical(text)
	lines := make([]Line, 0, len(pieces))
	for _, p := range pieces {
		if file, ok := include(p.comment); ok && p.text == "" {
			notes = append(notes, Note{p.number, fmt.Sprintf("#INCLUDE %s: not followed; copy its lines to here", file)})
		}
		rest := strings.TrimLeft(p.text, " ")
		if rest == "" {
			continue
		}
		if o.Compatible && rest != p.text {
			notes = append(notes, Note{p.number, "begins with a blank: Maui 3.3.1 does not read it"})
			continue
		}
		l, why := parse(rest)
		if why != "" {
			notes = append(notes, Note{p.number, why})
			continue
		}
		l.Number, l.Written = p.number, l.Name
		if !o.Compatible {
			l.Name = strings.ToUpper(l.Name)
		}
		lines = append(lines, l)
	}
	return lines, notes
}

// piece is a line with those that it goes on in.
type piece struct {
	number        int
	text, comment string // the comment is the first line's, without its "#"
}

// logical takes a text apart. Comments go first, so that a "\" in one continues nothing.
func logical(text string) []piece {
	out := make([]piece, 0, strings.Count(text, "\n")+1)
	open := false
	text = strings.TrimPrefix(text, "\uFEFF")
	for i, line := range strings.Split(text, "\n") {
		line, comment, _ := strings.Cut(printable(line), "#")
		body, more := strings.CutSuffix(strings.TrimRight(line, " "), `\`)
		if open {
			last := &out[len(out)-1]
			last.text += " " + body
		} else {
			out = append(out, piece{i + 1, body, comment})
		}
		open = more
	}
	return out
}

// printable replaces unprintable characters by blanks: tabs, carriage returns and broken
// letters, too.
func printable(line string) string {
	if !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		return line
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, line)
}

// include reports whether a comment is a private extension of Maui's.
func include(comment string) (file string, ok bool) {
	rest, ok := strings.CutPrefix(comment, "INCLUDE ")
	return strings.TrimSpace(rest), ok
}

// parse reads a line that begins with a name.
func parse(text string) (l Line, why string) {
	end := strings.IndexAny(text, " [=")
	if end < 0 {
		end = len(text)
	}
	l.Name, text = text[:end], text[end:]
	if l.Name == "" {
		return l, "want a parameter's name"
	}
	if inside, ok := strings.CutPrefix(text, "["); ok {
		index, rest, closed := strings.Cut(inside, "]")
		switch {
		case !closed:
			return l, l.Name + `: want "]" behind the index`
		case rest != "" && !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "="):
			return l, fmt.Sprintf("%s[%s]: not read: want a blank behind %q", l.Name, strings.TrimSpace(index), "]")
		}
		l.Index, l.HasIndex, text = strings.TrimSpace(index), true, rest
	}
	text = strings.TrimSpace(text)
	text = strings.TrimPrefix(text, "=")
	l.Value = strings.TrimSpace(text)
	return l, ""
}

// Attribute is one ATTR=VALUE of USERCFG and the like.
type Attribute struct{ Name, Value string }

// Attributes reads what stands behind USERCFG[NAME] and the like: ATTR=VALUE, with blanks
// between two. Names keep their case.
func Attributes(value string) (list []Attribute, notes []string) {
	words := strings.Fields(value)
	for i := 0; i < len(words); i++ {
		name, v, ok := strings.Cut(words[i], "=")
		switch {
		case name != "" && v != "":
			list = append(list, Attribute{name, v})
		case ok && name != "" && (i+1 == len(words) || strings.Contains(words[i+1], "=")):
			notes = append(notes, name+"=: no value")
		default:
			from := i
			for i+1 < len(words) && !isAttribute(words[i+1]) {
				i++
			}
			notes = append(notes, strings.Join(words[from:i+1], " ")+": not read: want ATTRIBUTE=VALUE without blanks")
		}
	}
	return list, notes
}

// isAttribute reports whether a word begins an ATTR=VALUE.
func isAttribute(word string) bool { return strings.Index(word, "=") > 0 }
