// Package adprint writes ads the ways that every command shows them to
// programs: -long, -json and -af.
//
// It knows ads and how to write them, and not what they describe.
package adprint

import (
	"io"
	"iter"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// Flags are the flags of a command that shows ads.
var Flags = []cmdline.Flag{
	{Name: "long", Min: 1, Help: "show whole ads, one `attribute = expression` a line, a blank line behind each"},
	{Name: "json", Help: "show JSON, for programs"},
	{Name: "af", Args: []string{"ATTR..."}, Letters: letters, Min: 2,
		Help: "show the values of attributes or expressions, one line an ad. The letters behind the colon: j the job's id first, l with names, h in columns under a heading, without names, V strings in quotes, r as written and not evaluated, comma and t part by comma and tab, n each value on its own line, g a blank line behind each ad"},
}

// Autoformat is -af by its long name, which may be abbreviated, for commands
// that have it.
var Autoformat = cmdline.Flag{Name: "autoformat", Args: []string{"ATTR..."}, Letters: letters, Min: 5, Help: "the same as -af"}

const letters = "jlhVr,tng"

// Print writes the ads one at a time in the form of a flag: "long", "json", "af"
// or "autoformat", whose expressions and letters are those of the command line. What ads
// are chained to has to stay as it is until the last is written; an ad itself
// may be changed and come again. It writes to Call.Data.
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

// Auto writes the values of expressions, most often attribute names, in each
// ad. The letters are those of -af. An expression that does not parse is a
// usage error.
func Auto(w io.Writer, c *classad.Context, letters string, names []string, ads []*classad.Ad) error {
	return auto(w, c, letters, names, slices.Values(ads))
}
