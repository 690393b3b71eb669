package macro

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// byteOrderMark is what some editors put before a text in UTF-8.
const byteOrderMark = "\uFEFF"

// Piece says where a piece of a logical text begins in the file. It ends where the next
// begins.
type Piece struct {
	Offset int // in bytes of the logical text, from 0
	Line   int // from 1
	Column int // in characters, from 1
}

// Lines takes a text apart into its logical lines.
type Lines struct {
	text   string
	marked bool
	starts []int // of the physical lines
	next   int   // physical line to be read, from 0
	blank  int   // blank lines that Next has passed over
}

// NewLines returns the lines of a text. A byte order mark before it does not count.
func NewLines(text string) *Lines {
	l := &Lines{}
	l.text, l.marked = strings.CutPrefix(text, byteOrderMark)
	for at := 0; at < len(l.text); {
		l.starts = append(l.starts, at)
		end := strings.IndexByte(l.text[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return l
}

// Marked reports whether the text began with a byte order mark.
func (l *Lines) Marked() bool { return l.marked }

// Blank returns how many blank lines Next has passed over so far, without those that end
// a continued line.
func (l *Lines) Blank() int { return l.blank }

// Source returns the physical line with the number, from 1, without its end; nothing if
// there is none.
func (l *Lines) Source(line int) string {
	if line < 1 || line > len(l.starts) {
		return ""
	}
	end := len(l.text)
	if line < len(l.starts) {
		end = l.starts[line]
	}
	return strings.TrimRight(l.text[l.starts[line-1]:end], "\r\n")
}

// Next returns the next logical line: one that says something, with those that continue
// it. Blanks at both ends of physical lines and carriage returns do not count, nor do
// lines that begin with "#" between continued ones; a backslash at the end of those
// continues nothing. A blank line ends a continued one. There is at least one piece.
func (l *Lines) Next() (text string, pieces []Piece, ok bool) {
	var joined []byte
	for l.next < len(l.starts) {
		line := l.Source(l.next + 1)
		l.next++
		part := strings.TrimSpace(line)
		if part == "" && pieces == nil {
			l.blank++
			continue
		}
		if strings.HasPrefix(part, "#") {
			continue
		}
		indent := line[:strings.Index(line, part)]
		pieces = append(pieces, Piece{len(joined), l.next, utf8.RuneCountInString(indent) + 1})
		part, continued := strings.CutSuffix(part, `\`)
		if !continued && joined == nil {
			text = part
			break
		}
		joined = append(joined, part...)
		if !continued {
			break
		}
	}
	if joined != nil {
		text = strings.TrimSpace(string(joined))
	}
	return text, pieces, pieces != nil
}

// Until returns the lines up to the one that is "@" and the tag, parted by newlines, for
// values of several lines. closed is false when the text ends before.
func (l *Lines) Until(tag string) (text string, pieces []Piece, closed bool) {
	var b strings.Builder
	for l.next < len(l.starts) {
		line := l.Source(l.next + 1)
		l.next++
		if strings.TrimSpace(line) == "@"+tag {
			closed = true
			break
		}
		if pieces != nil {
			b.WriteByte('\n')
		}
		pieces = append(pieces, Piece{b.Len(), l.next, 1})
		b.WriteString(line)
	}
	return b.String(), pieces, closed
}

// Place returns where the byte at the offset of a logical text stands in the file, as
// pieces have it. One behind its end is taken to follow its last. Without pieces it is line 0.
func Place(text string, pieces []Piece, offset int) (line, column int) {
	offset = min(max(offset, 0), len(text))
	i, found := slices.BinarySearchFunc(pieces, offset, func(p Piece, offset int) int { return p.Offset - offset })
	for found && i+1 < len(pieces) && pieces[i+1].Offset == offset {
		i++
	}
	if !found {
		i--
	}
	if i < 0 {
		return 0, 0
	}
	p := pieces[i]
	for n := 0; n < utf8.UTFMax-1 && p.Offset < offset && offset < len(text) && !utf8.RuneStart(text[offset]); n++ {
		offset-- // to the beginning of the character
	}
	return p.Line, p.Column + utf8.RuneCountInString(text[min(p.Offset, offset):offset])
}
