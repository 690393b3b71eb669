package adprint

import (
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// idHeading stands over the ids of jobs.
const idHeading = " ID"

// cell is one column of -af.
type cell struct {
	name string
	expr *classad.Expr // nil: the job's id
	// width is that of the widest value so far, for columns under headings: as
	// in HTCondor a line knows nothing of those below it.
	width int
}

// format is what the letters of -af ask for.
type format struct {
	cells                       []cell
	separator, end              string
	heading, named, quoted, raw bool
	// padded values fill their column. With another separator than a blank
	// programs tell columns apart, and need no padding.
	padded bool
}

func formatOf(letters string) format {
	has := func(r rune) bool { return strings.ContainsRune(letters, r) }
	f := format{heading: has('h'), named: has('l') && !has('h'), quoted: has('V'), raw: has('r'), separator: " ", end: "\n"}
	switch {
	case has('n'):
		f.separator = "\n"
	case has(',') && has('t'):
		f.separator = ",\t"
	case has(','):
		f.separator = ", "
	case has('t'):
		f.separator = "\t"
	}
	if has('g') {
		f.end = "\n\n"
	}
	if has('j') {
		f.cells = append(f.cells, cell{name: idHeading})
	}
	f.padded = f.heading && f.separator == " "
	return f
}

func auto(w io.Writer, c *classad.Context, letters string, names []string, ads iter.Seq[*classad.Ad]) error {
	f := formatOf(letters)
	for _, name := range names {
		e, err := classad.ParseExpr(name)
		if err != nil {
			return cmdline.Usagef("-af: %s: %v", name, err)
		}
		f.cells = append(f.cells, cell{name, e, len(name)})
	}
	if f.heading {
		var heads []string
		for _, x := range f.cells {
			heads = append(heads, x.name)
		}
		if _, err := fmt.Fprintln(w, strings.Join(heads, f.separator)); err != nil {
			return err
		}
	}
	var line []byte
	for ad := range ads {
		line = line[:0]
		for i := range f.cells {
			if i > 0 {
				line = append(line, f.separator...)
			}
			line = f.append(line, c, &f.cells[i], ad)
		}
		if _, err := w.Write(append(line, f.end...)); err != nil {
			return err
		}
	}
	return nil
}

// append writes a cell for an ad.
func (f *format) append(b []byte, c *classad.Context, x *cell, ad *classad.Ad) []byte {
	start := len(b)
	if f.named && x.expr != nil {
		b = append(append(b, x.name...), " = "...)
	}
	least := 0
	switch {
	case x.expr == nil:
		b = f.id(b, c, ad)
	case f.raw:
		b = append(b, raw(x.name, x.expr, ad)...)
	default:
		v := x.expr.Eval(c, ad, nil)
		least = room(v)
		b = f.value(b, v)
	}
	if f.padded {
		x.width = max(x.width, len(b)-start, least)
		for len(b)-start < x.width {
			b = append(b, ' ')
		}
	}
	return b
}

func (f *format) value(b []byte, v classad.Value) []byte {
	if s, ok := v.Text(); ok && !f.quoted {
		return append(b, s...)
	}
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(b, n, 10)
	}
	return append(b, v.String()...)
}

// room returns how wide HTCondor makes a column for a real number: as if it were
// written with all its digits and an exponent.
func room(v classad.Value) int {
	x, _ := v.Number()
	if v.Kind() != classad.KindReal || x == 0 {
		return 0
	}
	var b [32]byte
	return len(strconv.AppendFloat(b[:0], x, 'E', 15, 64))
}

// id appends a job's id, nothing for an ad that is no job's.
func (f *format) id(b []byte, c *classad.Context, ad *classad.Ad) []byte {
	cluster, ok := ad.EvalInt(c, "ClusterId")
	if !ok {
		return b
	}
	if f.named {
		b = append(b, "ID = "...)
	}
	b = append(strconv.AppendInt(b, cluster, 10), '.')
	if proc, ok := ad.EvalInt(c, "ProcId"); ok {
		b = strconv.AppendInt(b, proc, 10)
	}
	return b
}

// raw returns an attribute as it was written; any other expression stands
// for itself.
func raw(name string, e *classad.Expr, ad *classad.Ad) string {
	if own, ok := ad.Lookup(name); ok {
		return own.String()
	}
	return e.String()
}
