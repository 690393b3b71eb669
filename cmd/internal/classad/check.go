package classad

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
)

// checked is what check says of a file.
type checked struct {
	File   string
	Ads    int // the good ones
	Errors []fault

	unread bool // it could not be read, or not to its end
}

type fault struct {
	Line, Column int // from 1; 0: unknown
	Message      string
}

// check reads files and reports the number and the errors of their ads. It goes on after
// a file that cannot be read.
func check(c *cmdline.Call, files []string) error {
	in, err := newInput(c)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	var failed error
	all := []checked{}
	for _, file := range files {
		k := checked{File: file, Errors: []fault{}}
		err := in.each(file, func(f found) error {
			if f.bad == nil {
				k.Ads++
				return nil
			}
			c.Warn("%v", f.bad)
			k.Errors = append(k.Errors, faultOf(f.bad))
			return nil
		})
		if errors.Is(err, errTwice) {
			return err
		}
		if err != nil {
			c.Warn("%v", err)
			k.unread = true
			k.Errors = append(k.Errors, fault{Message: err.Error()})
		}
		if len(k.Errors) > 0 {
			failed = cmdline.ErrReported
		}
		all = append(all, k)
	}
	if err := showChecked(c, all); err != nil {
		return err
	}
	return failed
}

func faultOf(err error) fault {
	var at *classad.SyntaxError
	if !errors.As(err, &at) {
		return fault{Message: err.Error()}
	}
	return fault{at.Line, at.Col, at.Msg}
}

func showChecked(c *cmdline.Call, all []checked) error {
	if c.Has("json") {
		return c.JSON(struct{ Files []checked }{all})
	}
	for _, k := range all {
		if k.unread {
			continue
		}
		text := fmt.Sprintf("%s: %s", called(k.File), plural.Count(k.Ads, "ad"))
		if n := len(k.Errors); n > 0 {
			text += fmt.Sprintf(", and %d bad", n)
		}
		if _, err := fmt.Fprintln(c.Stdout, text); err != nil {
			return err
		}
	}
	return nil
}

// needs is what an expression needs, for programs. The lists are null when
// there is no answer.
type needs struct {
	Expr               string
	Internal, External []string `jsonschema:"nullable"`
	Clock, Chance      bool     // whether the value may change with these
}

// refs says which attributes expressions need.
func refs(c *cmdline.Call, texts []string) error {
	if len(texts) == 0 {
		return cmdline.Usagef("refs: which expressions?")
	}
	exprs, my, _, err := expressions(c, texts)
	if err != nil {
		return err
	}
	var failed error
	all := make([]needs, len(exprs))
	for i, e := range exprs {
		n := needs{Expr: texts[i]}
		n.Internal, n.External = classad.References(e, my)
		n.Clock, n.Chance = classad.Varies(e, my, nil)
		if all[i] = n; n.Internal == nil {
			c.Warn("%s: no answer: attributes refer to each other in a circle, or an attribute is selected from a value that is not an ad", n.Expr)
			failed = cmdline.ErrReported
		}
	}
	if c.Has("json") {
		err = c.JSON(struct{ Expressions []needs }{all})
	} else {
		err = showNeeds(c, all)
	}
	if err != nil {
		return err
	}
	return failed
}

// showNeeds writes a line for each kind of need, under the expression if there
// are several.
func showNeeds(c *cmdline.Call, all []needs) error {
	for _, n := range all {
		var b strings.Builder
		indent := ""
		if len(all) > 1 {
			fmt.Fprintln(&b, n.Expr)
			indent = "    "
		}
		line := func(head string, words []string) {
			if len(words) > 0 {
				fmt.Fprintf(&b, "%s%-8s  %s\n", indent, head, strings.Join(words, " "))
			}
		}
		line("internal", n.Internal)
		line("external", n.External)
		var varies []string
		if n.Clock {
			varies = append(varies, "time")
		}
		if n.Chance {
			varies = append(varies, "chance")
		}
		line("varies", varies)
		if _, err := fmt.Fprint(c.Stdout, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// convert writes the ads of files, or of standard input, in another form.
func convert(c *cmdline.Call, files []string) error {
	in, err := newInput(c)
	if err != nil {
		return err
	}
	if !c.Has("to") {
		return cmdline.Usagef("convert: to which form? -to long, new or json")
	}
	to, err := formNamed("to", c.Value("to"))
	if err != nil {
		return err
	}
	if to == classad.FormAuto || to == classad.FormXML {
		return cmdline.Usagef("-to: form %v can be read and not written: want long, new or json", to)
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	out := classad.NewWriter(c.Data(), to)
	failed := writeAll(c, in, files, out)
	// The output before a failure is whole all the same.
	if err := out.Close(); err != nil {
		return err
	}
	return failed
}

// writeAll writes the ads of all files. It reports an error in an ad, and goes on unless
// -stop is given.
func writeAll(c *cmdline.Call, in *input, files []string, out *classad.Writer) error {
	var failed error
	for _, file := range files {
		err := in.each(file, func(f found) error {
			if f.bad == nil {
				f.bad = out.Write(f.ad)
				if !errors.Is(f.bad, classad.ErrUnwritable) {
					return f.bad
				}
				f.bad = fmt.Errorf("%s: %w", f.where, f.bad)
			}
			if c.Has("stop") {
				return f.bad
			}
			c.Warn("%v", f.bad)
			failed = cmdline.ErrReported
			return nil
		})
		if err != nil {
			return err
		}
	}
	return failed
}
