// Package adprint writes ads the ways that every command shows them to
// programs: -long, -json and -af.
//
// It knows ads and how to write them, and not what they describe.
package adprint

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"slices"
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
// "af", whose expressions and letters are those of the command line. Ads that
// are chained have to stay what they are until the last is written.
func Print(c *cmdline.Call, form string, ads iter.Seq[*classad.Ad]) error {
	w := bufio.NewWriterSize(c.Stdout, 64<<10)
	err := print(w, c, form, ads)
	if e := w.Flush(); err == nil {
		err = e
	}
	return err
}

func print(w io.Writer, c *cmdline.Call, form string, ads iter.Seq[*classad.Ad]) error {
	switch form {
	case "long":
		return long(w, ads)
	case "json":
		return list(w, ads)
	}
	return auto(w, &classad.Context{Now: c.Now}, c.Letters("af"), c.Values("af"), ads)
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
	f := format{has: func(r rune) bool { return strings.ContainsRune(letters, r) }}
	for _, name := range names {
		e, err := classad.ParseExpr(name)
		if err != nil {
			return cmdline.Usagef("-af: %s: %v", name, err)
		}
		f.expressions = append(f.expressions, e)
	}
	if f.has('h') {
		if _, err := fmt.Fprintln(w, strings.Join(names, f.separator())); err != nil {
			return err
		}
	}
	cells := make([]string, len(names))
	for ad := range ads {
		for i, e := range f.expressions {
			cells[i] = f.cell(c, names[i], e, ad)
		}
		end := "\n"
		if f.has('g') {
			end = "\n\n"
		}
		if _, err := io.WriteString(w, strings.Join(cells, f.separator())+end); err != nil {
			return err
		}
	}
	return nil
}

type format struct {
	has         func(rune) bool
	expressions []*classad.Expr
}

func (f format) separator() string {
	switch {
	case f.has('n'):
		return "\n"
	case f.has(',') && f.has('t'):
		return ",\t"
	case f.has(','):
		return ", "
	case f.has('t'):
		return "\t"
	}
	return " "
}

func (f format) cell(c *classad.Context, name string, e *classad.Expr, ad *classad.Ad) string {
	text := ""
	if f.has('r') {
		text = raw(name, e, ad)
	} else {
		v := e.Eval(c, ad, nil)
		s, ok := v.Text()
		if text = v.String(); ok && !f.has('V') {
			text = s
		}
	}
	if f.has('l') {
		return name + " = " + text
	}
	return text
}

// raw returns an attribute as it was written; any other expression stands
// for itself.
func raw(name string, e *classad.Expr, ad *classad.Ad) string {
	if own, ok := ad.Lookup(name); ok {
		return own.String()
	}
	return e.String()
}
