package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// record is one line of -jsonl. Its other members, such as the result that
// somebody expects, are nothing to us.
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
		if _, err := fmt.Fprintln(c.Data(), oneLine(text)); err != nil {
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

// recordFault words what is wrong with a line for those who do not know Go.
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
