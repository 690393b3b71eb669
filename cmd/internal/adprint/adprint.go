// Package adprint writes ads the ways that every command shows them to
// programs: -long, -json and -af.
//
// It knows ads and how to write them, and not what they describe.
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
	{Name: "long", Min: 1, Help: "show whole ads, one `attribute = expression` a line, a blank line behind each"},
	{Name: "json", Help: "show JSON, for programs"},
	{Name: "af", Args: []string{"ATTR..."}, Letters: letters, Min: 2,
		Help: "show the values of attributes or expressions, one line an ad. The letters behind the colon: l with names, h with a heading, V strings in quotes, r as written and not evaluated, comma and t part by comma and tab, n each value on its own line, g a blank line behind each ad"},
}

const letters = "lhVr,tng"

// Print writes the ads one at a time in the form of a flag: "long", "json" or
// "af", whose expressions and letters are those of the command line. What ads
// are chained to has to stay as it is until the last is written; an ad itself
// may be changed and come again.
func Print(c *cmdline.Call, form string, ads iter.Seq[*classad.Ad]) error {
	switch form {
	case "long":
		return long(c.Stdout, ads)
	case "json":
		return list(c.Stdout, ads)
	}
	return auto(c.Stdout, &classad.Context{Now: c.Now}, c.Letters("af"), c.Values("af"), ads)
}

// Long writes the ads in long form, a blank line behind each.
func Long(w io.Writer, ads []*classad.Ad) error { return long(w, slices.Values(ads)) }

func long(w io.Writer, ads iter.Seq[*classad.Ad]) error {
	p := pen{notation: longForm}
	var b []byte
	for ad := range ads {
		var err error
		if b, err = p.append(b[:0], ad); err != nil {
			return err
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// list writes the ads as a list of JSON objects, as (*cmdline.Call).JSON
// would.
func list(w io.Writer, ads iter.Seq[*classad.Ad]) error {
	p := pen{notation: jsonForm}
	var b []byte
	lead, end := "[\n  ", "[]\n"
	for ad := range ads {
		b = append(append(b[:0], lead...), opening...)
		lead, end = ",\n  ", "\n]\n"
		before := len(b)
		var err error
		if b, err = p.append(b, ad); err != nil {
			return err
		}
		if len(b) == before {
			b = append(b[:before-len(opening)], "{}"...)
		} else {
			b = append(b, closing...)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, end)
	return err
}

// Auto writes the values of expressions, most often attribute names, in each
// ad. The letters are those of -af. An expression that does not parse is a
// usage error.
func Auto(w io.Writer, c *classad.Context, letters string, names []string, ads []*classad.Ad) error {
	return auto(w, c, letters, names, slices.Values(ads))
}

func auto(w io.Writer, c *classad.Context, letters string, names []string, ads iter.Seq[*classad.Ad]) error {
	f := formatOf(letters)
	for _, name := range names {
		e, err := classad.ParseExpr(name)
		if err != nil {
			return cmdline.Usagef("-af: %s: %v", name, err)
		}
		f.expressions = append(f.expressions, e)
	}
	if f.heading {
		if _, err := fmt.Fprintln(w, strings.Join(names, f.separator)); err != nil {
			return err
		}
	}
	var line []byte
	for ad := range ads {
		line = line[:0]
		for i, e := range f.expressions {
			if i > 0 {
				line = append(line, f.separator...)
			}
			line = f.append(line, c, names[i], e, ad)
		}
		if _, err := w.Write(append(line, f.end...)); err != nil {
			return err
		}
	}
	return nil
}

// format is what the letters of -af ask for.
type format struct {
	expressions                 []*classad.Expr
	separator, end              string
	heading, named, quoted, raw bool
}

func formatOf(letters string) format {
	has := func(r rune) bool { return strings.ContainsRune(letters, r) }
	f := format{heading: has('h'), named: has('l'), quoted: has('V'), raw: has('r'), separator: " ", end: "\n"}
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
	return f
}

// append writes what an expression is for an ad.
func (f *format) append(b []byte, c *classad.Context, name string, e *classad.Expr, ad *classad.Ad) []byte {
	if f.named {
		b = append(append(b, name...), " = "...)
	}
	if f.raw {
		return append(b, raw(name, e, ad)...)
	}
	v := e.Eval(c, ad, nil)
	if s, ok := v.Text(); ok && !f.quoted {
		return append(b, s...)
	}
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(b, n, 10)
	}
	return append(b, v.String()...)
}

// raw returns an attribute as it was written; any other expression stands
// for itself.
func raw(name string, e *classad.Expr, ad *classad.Ad) string {
	if own, ok := ad.Lookup(name); ok {
		return own.String()
	}
	return e.String()
}
