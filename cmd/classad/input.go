package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/nearest"
)

// standardInput is how messages call what the file "-" means.
const standardInput = "standard input"

// input reads the files that a command line names.
type input struct {
	stdin io.Reader
	taken bool // standard input was read already
	form  classad.Form
}

func newInput(c *cmdline.Call) (*input, error) {
	in := &input{stdin: c.Stdin}
	var err error
	if c.Has("from") {
		in.form, err = formNamed("from", c.Value("from"))
	}
	return in, err
}

// formNamed returns the form that the argument of a flag names.
func formNamed(flag, name string) (classad.Form, error) {
	f, err := classad.ParseForm(name)
	if err != nil {
		var known []string
		for f := classad.FormAuto; f <= classad.FormXML; f++ {
			known = append(known, f.String())
		}
		return f, cmdline.Usagef("-%s: %v%s", flag, err, nearest.Hint(name, known))
	}
	return f, nil
}

// found is one ad of a file, or what is wrong with it.
type found struct {
	ad    *classad.Ad
	bad   error  // a *classad.SyntaxError
	where string // "file:line"
}

// called is how messages call a file.
func called(file string) string {
	if file == "-" {
		return standardInput
	}
	return file
}

// each hands every ad of a file, good or bad, to f until f returns an error.
func (in *input) each(file string, f func(found) error) error {
	name, from := called(file), in.stdin
	if file == "-" {
		if in.taken {
			return errTwice
		}
		in.taken = true
	} else {
		opened, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, cmdline.Cause(err))
		}
		defer opened.Close()
		from = opened
	}
	r := classad.NewReader(from, name)
	r.SetForm(in.form)
	for {
		ad, err := r.Next()
		var bad *classad.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.As(err, &bad):
			return fmt.Errorf("%s: %w", name, cmdline.Cause(err))
		}
		if err := f(found{ad, err, name + ":" + strconv.Itoa(r.Line())}); err != nil {
			return err
		}
	}
}

var (
	errEnough = errors.New("enough")
	errTwice  = cmdline.Usagef("-: standard input can be read only once")
)

// first returns the first ad of a file, which has to be good.
func (in *input) first(file string) (*classad.Ad, error) {
	var ad *classad.Ad
	err := in.each(file, func(f found) error {
		if ad = f.ad; f.bad != nil {
			return f.bad
		}
		return errEnough
	})
	switch {
	case errors.Is(err, errEnough):
		return ad, nil
	case err == nil:
		return nil, fmt.Errorf("%s: no ad in it", called(file))
	}
	return nil, err
}

// only is first for a file that ought to have no other ad; it warns of more.
func (in *input) only(c *cmdline.Call, file string) (*classad.Ad, error) {
	var ad *classad.Ad
	err := in.each(file, func(f found) error {
		switch {
		case ad != nil:
			c.Warn("%s: has another ad; only the first is taken for the job", f.where)
			return errEnough
		case f.bad != nil:
			return f.bad
		}
		ad = f.ad
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		err = nil
	case err == nil && ad == nil:
		err = fmt.Errorf("%s: no ad in it", called(file))
	}
	return ad, err
}

// named returns the first ad of the file that a flag names; nil without the
// flag.
func (in *input) named(c *cmdline.Call, flag string) (*classad.Ad, error) {
	if !c.Has(flag) {
		return nil, nil
	}
	return in.first(c.Value(flag))
}

// world is what expressions see besides the ads.
func world(c *cmdline.Call) (*classad.Context, error) {
	w := &classad.Context{Now: c.Now, MaxSteps: 10_000_000} // who tries an expression can wait
	if c.Has("seed") {
		n, err := strconv.ParseUint(c.Value("seed"), 10, 64)
		if err != nil {
			return nil, cmdline.Usagef("-seed: %q: want a whole number from 0 to %d", c.Value("seed"), uint64(1<<64-1))
		}
		w.Seed = n
	}
	return w, nil
}
