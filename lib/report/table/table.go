// Package table sets texts in columns: it measures, cuts and pads texts in places of a
// terminal, and writes tables whose columns are as wide as their cells.
package table

import (
	"io"
	"math"
	"strings"
	"unicode/utf8"

	pretty "github.com/jedib0t/go-pretty/v6/table"
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
	t := pretty.NewWriter()
	t.SetStyle(style())
	head, configs := make(pretty.Row, len(columns)), make([]pretty.ColumnConfig, len(columns))
	for i, c := range columns {
		head[i], configs[i] = c.Head, pretty.ColumnConfig{Number: i + 1}
		if c.Right {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, r := range rows {
		row := make(pretty.Row, len(r))
		for i, cell := range r {
			row[i] = clean.Line(cell)
		}
		t.AppendRow(row)
	}
	heading, lines, _ := strings.Cut(t.Render(), "\n")
	if err := writeHeading(w, strings.TrimRight(heading, " ")); err != nil {
		return err
	}
	for line := range strings.SplitSeq(lines, "\n") {
		if _, err := io.WriteString(w, strings.TrimRight(line, " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// style returns the style of a table without lines.
func style() pretty.Style {
	s := pretty.StyleDefault
	s.Name = "plain"
	s.Options = pretty.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Format.Header = text.FormatDefault
	return s
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

// Blanks are the blanks that Pad appends at a time.
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
