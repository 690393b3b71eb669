// Package adprint writes ads in the forms that every command offers to programs: -long,
// -json and -af.
//
// It knows how to write ads, and not what they describe.
package adprint

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// Flags are the flags of a command that shows ads.
var Flags = []cmdline.Flag{
	{Name: "long", Min: 1, Help: "show whole ads: a line `attribute = expression` for each attribute, a blank line after each ad"},
	{Name: "json", Help: "show JSON"},
	{Name: "af", Args: []string{"ATTR..."}, Letters: letters, Min: 2,
		Help: "show the values of attributes or expressions, one line for each ad. Letters after the colon: j the job's id first, l with names, h in columns under a heading, without names, V strings in quotes, r as written and not evaluated, comma and t separate by comma and tab, n each value on its own line, g a blank line after each ad"},
}

// Autoformat is -af by its long name, which may be abbreviated, for commands
// that have it.
var Autoformat = cmdline.Flag{Name: "autoformat", Args: []string{"ATTR..."}, Letters: letters, Min: 5, Help: "the same as -af"}

const letters = "jlhVr,tng"

// Print writes the ads one at a time in the form of a flag: "long", "json", "af" or
// "autoformat", with the expressions and letters of the command line. The parents of ads
// have to stay as they are until the last ad is written; an ad itself may be changed and
// come again. It writes to Call.Data.
func Print(c *cmdline.Call, form string, ads iter.Seq[*classad.Ad]) error {
	w := c.Data()
	switch form {
	case "long":
		return long(w, ads)
	case "json":
		return list(w, ads, 0)
	}
	return auto(w, &classad.Context{Now: c.Now}, c.Letters(form), c.Values(form), ads)
}

// Long writes the ads in long form, a blank line behind each.
func Long(w io.Writer, ads []*classad.Ad) error { return long(w, slices.Values(ads)) }

func long(w io.Writer, ads iter.Seq[*classad.Ad]) error {
	p := classad.NewLongPrinter()
	var b []byte
	for ad := range ads {
		b = p.Append(b[:0], ad)
		if _, err := w.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Auto writes the values of expressions, most often attribute names, in each ad. The
// letters are -af's. An expression that does not parse is a usage error.
func Auto(w io.Writer, c *classad.Context, letters string, names []string, ads []*classad.Ad) error {
	return auto(w, c, letters, names, slices.Values(ads))
}

// idHeading stands over the ids of jobs.
const idHeading = " ID"

// cell is one column of -af.
type cell struct {
	name string
	expr *classad.Expr // nil: the job's id
	// width is the widest value's so far, for columns under headings: as in HTCondor,
	// lines below do not widen a line.
	width int
}

// format is the format that the letters of -af select.
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

// Member is a list of ads under a name, in an object.
type Member struct {
	Name string
	Ads  iter.Seq[*classad.Ad]
}

// Object writes a JSON object with lists of ads as members, in this order and as
// (*cmdline.Call).JSON would. There is at least one.
func Object(w io.Writer, members []Member) error {
	lead := fmt.Sprintf("{\n%s%q: %d,\n", step, "SchemaVersion", cmdline.SchemaVersion)
	for _, m := range members {
		if _, err := io.WriteString(w, lead+step+strconv.Quote(m.Name)+": "); err != nil {
			return err
		}
		if err := list(w, m.Ads, 1); err != nil {
			return err
		}
		lead = ",\n"
	}
	_, err := io.WriteString(w, "\n}\n")
	return err
}

const (
	// step is the indentation of a level of JSON.
	step = "  "
	// opening is what an object begins with.
	opening = "{\n"
)

// list writes the ads as a list of JSON objects, as (*cmdline.Call).JSON
// would at this depth; at depth 0 with a newline at the end.
func list(w io.Writer, ads iter.Seq[*classad.Ad], depth int) error {
	outer := strings.Repeat(step, depth)
	inner := "\n" + outer + step
	p := classad.NewJSONPrinter(outer + step)
	var b []byte
	lead, end := "["+inner, "[]"
	for ad := range ads {
		b = append(append(b[:0], lead...), opening...)
		lead, end = ","+inner, "\n"+outer+"]"
		before := len(b)
		b = p.Append(b, ad)
		if len(b) == before {
			b = append(b[:before-len(opening)], "{}"...)
		} else {
			b = append(append(b, inner...), '}')
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	if depth == 0 {
		end += "\n"
	}
	_, err := io.WriteString(w, end)
	return err
}
