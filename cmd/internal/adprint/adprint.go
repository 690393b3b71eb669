// Package adprint writes ads the ways that every command shows them to
// programs: -long, -json and -af.
//
// It knows ads and how to write them, and not what they describe.
package adprint

import (
	"fmt"
	"io"
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

// Long writes the ads in long form, a blank line behind each.
func Long(w io.Writer, ads []*classad.Ad) error {
	var b []byte
	for _, ad := range ads {
		b = append(ad.AppendLong(b[:0]), '\n')
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// Auto writes the values of expressions, most often attribute names, in each
// ad. The letters are those of -af. An expression that does not parse is a
// usage error.
func Auto(w io.Writer, c *classad.Context, letters string, names []string, ads []*classad.Ad) error {
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
	for _, ad := range ads {
		cells := make([]string, len(names))
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
