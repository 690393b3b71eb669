// Package table sets texts in columns: how many places of a terminal a text takes, texts cut or
// padded to so many, and tables whose columns are as wide as what stands in them.
package table

import (
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"fairspool/lib/clean"
)

// Column is one column of a table.
type Column struct {
	Head  string
	Right bool // align to the right, as numbers are
}

// HeadingWriter is a writer that shows headings as something else than lines.
type HeadingWriter interface {
	WriteHeading(line string) error
}

// Write writes rows under a heading, columns two blanks apart and as wide as they need to be, each
// row on one line. Without rows it writes nothing.
func Write(w io.Writer, columns []Column, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	head := make([]string, len(columns))
	cells := make([][]string, len(rows))
	widths := make([]int, len(columns))
	for i, c := range columns {
		head[i], widths[i] = c.Head, Width(c.Head)
	}
	for i, r := range rows {
		cells[i] = make([]string, len(r))
		for k, cell := range r {
			cells[i][k] = clean.Line(cell)
			widths[k] = max(widths[k], Width(cells[i][k]))
		}
	}
	line := func(cells []string) string {
		var b []byte
		for i, cell := range cells {
			blank := widths[i] - Width(cell)
			if columns[i].Right {
				b, blank = Pad(b, blank), 0
			}
			b = Pad(append(b, cell...), blank+2)
		}
		return strings.TrimRight(string(b), " ")
	}
	if err := writeHeading(w, line(head)); err != nil {
		return err
	}
	for _, r := range cells {
		if _, err := io.WriteString(w, line(r)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func writeHeading(w io.Writer, line string) error {
	if h, ok := w.(HeadingWriter); ok {
		return h.WriteHeading(line)
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// Append appends a text that is cut and padded to so many places.
func Append(b []byte, s string, width int) []byte {
	if plain(s) {
		s = s[:min(len(s), width)]
		return Pad(append(b, s...), width-len(s))
	}
	s, left := Cut(s, width)
	return Pad(append(b, s...), left)
}

// Cut cuts a text to so many places of a terminal, where a character may take two of them or none,
// and returns how many are left.
func Cut(s string, width int) (_ string, left int) {
	for i, r := range s {
		n := text.RuneWidth(r)
		if n > width {
			return s[:i], width
		}
		width -= n
	}
	return s, width
}

// Width returns how many places a text takes.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	_, left := Cut(s, math.MaxInt)
	return math.MaxInt - left
}

// plain reports whether each byte is a character.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Blanks are those that Pad appends at a time.
const Blanks = "                                                                "

// Pad appends so many blanks; none for a number below 0.
func Pad(b []byte, n int) []byte {
	for ; n > len(Blanks); n -= len(Blanks) {
		b = append(b, Blanks...)
	}
	if n > 0 {
		b = append(b, Blanks[:n]...)
	}
	return b
}
