package classad

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/nearest"
)

// standardInput is the name of the file "-" in messages.
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

// found is one ad of a file, or its error.
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
	w := &classad.Context{Now: c.Now, MaxSteps: 10_000_000} // a user who tries an expression can wait
	if c.Has("seed") {
		n, err := strconv.ParseUint(c.Value("seed"), 10, 64)
		if err != nil {
			return nil, cmdline.Usagef("-seed: %q: want a whole number from 0 to %d", c.Value("seed"), uint64(1<<64-1))
		}
		w.Seed = n
	}
	return w, nil
}

// record is one line of -jsonl. Other members, such as an expected result, are ignored.
type record struct {
	Expr, My, Target string
	Strict           bool // see strictFlag
}

// What stands for the value of a record that cannot be read.
const (
	badExpr = "PARSE_ERROR"
	badAd   = "AD_PARSE_ERROR"
)

// records evaluates records from standard input and prints a line for each, in
// their order, as they come. A line that is no record ends it: the results
// behind it would stand for others.
func records(c *cmdline.Call, w *classad.Context) error {
	lines := bufio.NewReaderSize(c.Stdin, 64<<10)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 || err != nil && !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("%s: %w", standardInput, cmdline.Cause(err))
		}
		if strings.TrimSpace(string(line)) == "" {
			continue
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("%s:%d: not a record: %w", standardInput, n, recordFault(err))
		}
		text := r.result(w)
		if c.Has("json") {
			quoted, _ := json.Marshal(text) // a string: has no error
			text = string(quoted)
		}
		if _, err := fmt.Fprintln(c.Data(), clean.Escaped(text)); err != nil {
			return err
		}
		// Whoever writes records one by one and waits for each answer gets it.
		if lines.Buffered() == 0 {
			if err := c.Flush(); err != nil {
				return err
			}
		}
	}
}

// recordFault words the error of a line for people who do not know Go.
func recordFault(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &kind):
		return err
	case kind.Field == "":
		return fmt.Errorf("want a JSON object, found %s", kind.Value)
	case kind.Type.Kind() == reflect.Bool:
		return fmt.Errorf("%s: want true or false, found %s", strings.ToLower(kind.Field), kind.Value)
	}
	return fmt.Errorf("%s: want a text, found %s", strings.ToLower(kind.Field), kind.Value)
}

// result returns the value of the record's expression, in the old style.
func (r record) result(w *classad.Context) string {
	my, err := recordAd(r.My)
	if err != nil {
		return badAd
	}
	target, err := recordAd(r.Target)
	if err != nil {
		return badAd
	}
	if r.Target == "" {
		target = nil
	}
	e, err := parse(r.Expr, r.Strict)
	if err != nil {
		return badExpr
	}
	own := *w
	own.Strict = r.Strict
	return e.Eval(&own, my, target).String()
}

// recordAd reads the ad of a record: in new form if it begins with a bracket,
// else in long form, where blank lines mean nothing. An empty text is an empty
// ad.
func recordAd(text string) (*classad.Ad, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return classad.ParseAd(text)
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	r := classad.NewReader(strings.NewReader(strings.Join(lines, "\n")), "")
	r.SetForm(classad.FormLong)
	ad, err := r.Next()
	if errors.Is(err, io.EOF) {
		return classad.New(), nil
	}
	return ad, err
}
