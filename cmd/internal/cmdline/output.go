package cmdline

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/sys/unix"
)

// outputBuffer is how many bytes of standard output are written at a time:
// listings have many.
const outputBuffer = 64 << 10

// output is standard output: buffered, and keeping the first error, so that
// a full disk is noticed even where nobody looks at each write.
type output struct {
	buffer *bufio.Writer
	to     io.Writer
	err    error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.buffer.Write(p)
	o.err = lost(err)
	return n, o.err
}

// flush writes what is left and returns the first error of all writes.
func (o *output) flush() error {
	if o.err == nil {
		o.err = lost(o.buffer.Flush())
	}
	return o.err
}

// lost words the error of a write to standard output, which is the last thing
// that a command does.
func lost(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("standard output: %w: what it would have said is lost, all else is done", Cause(err))
}

// Flush writes out what the command has printed so far, for commands that go
// on for a while. An error must not keep them from that: it is worded as one
// of the end.
func (c *Call) Flush() error {
	if o, ok := c.Stdout.(*output); ok {
		return o.flush()
	}
	return nil
}

// Coloured tells whether standard output may be coloured: it is a terminal and
// NO_COLOR is not set.
func (c *Call) Coloured() bool { return coloured(c.Stdout) }

// Screen returns how many characters wide and high standard output is. COLUMNS
// and LINES win over what the terminal says, and elsewhere it is 80 by 24.
func (c *Call) Screen() (width, height int) {
	width, height = 80, 24
	if f := fileOf(c.Stdout); f != nil {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
			width, height = int(size.Col), int(size.Row)
		}
	}
	if t := callersOf(c.Stdout); t != nil {
		if w, h, _ := t.Terminal(); w > 0 && h > 0 {
			width, height = w, h
		}
	}
	for name, side := range map[string]*int{"COLUMNS": &width, "LINES": &height} {
		if n, err := strconv.ParseUint(os.Getenv(name), 10, 16); err == nil && n > 0 {
			*side = int(n)
		}
	}
	return width, height
}

// coloured tells whether what is written to w may be coloured: w is a
// terminal and NO_COLOR is not set.
func coloured(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && terminal(w) }

// callers is a stream of a caller's through the door: it knows of the terminal there.
type callers interface {
	Terminal() (width, height int, is bool)
}

// callersOf returns the stream of a caller that w leads to; nil: it leads to none.
func callersOf(w io.Writer) callers {
	if o, ok := w.(*output); ok {
		w = o.to
	}
	t, _ := w.(callers)
	return t
}

// terminal reports whether w leads to a terminal.
func terminal(w io.Writer) bool {
	if t := callersOf(w); t != nil {
		_, _, is := t.Terminal()
		return is
	}
	f := fileOf(w)
	if f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// fileOf returns the file that w leads to, nil for none.
func fileOf(w io.Writer) *os.File {
	if o, ok := w.(*output); ok {
		w = o.to
	}
	f, _ := w.(*os.File)
	return f
}

// Column is one column of a table.
type Column struct {
	Head  string
	Right bool // align to the right, as numbers are
}

// Table writes rows to standard output under a heading, columns two blanks
// apart and as wide as they need to be, with ? for characters that could steer a
// terminal: slots' ads may come from anybody. Without rows it writes nothing.
func (c *Call) Table(columns []Column, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	t := table.NewWriter()
	t.SetStyle(plain(coloured(c.Stdout)))
	head := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, col := range columns {
		head[i] = col.Head
		configs[i] = table.ColumnConfig{Number: i + 1}
		if col.Right {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, r := range rows {
		row := make(table.Row, len(r))
		for i, cell := range r {
			row[i] = strings.Map(harmless, cell)
		}
		t.AppendRow(row)
	}
	for _, line := range strings.Split(t.Render(), "\n") {
		if _, err := io.WriteString(c.Stdout, strings.TrimRight(line, " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func harmless(r rune) rune {
	if unicode.IsControl(r) {
		return '?'
	}
	return r
}

// plain is a table without lines, its heading bold where colours may be.
func plain(colours bool) table.Style {
	s := table.StyleDefault
	s.Name = "plain"
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Format.Header = text.FormatDefault
	if colours {
		s.Color.Header = text.Colors{text.Bold}
	}
	return s
}
