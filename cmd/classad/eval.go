package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
)

// strictFlag chooses the language without what HTCondor's daemons add to it.
const strictFlag = "strict-evaluation"

// eval prints the values of expressions.
func eval(c *cmdline.Call, texts []string) error {
	w, err := world(c)
	if err != nil {
		return err
	}
	if c.Has("jsonl") {
		if len(texts) > 0 || c.Has("my") || c.Has("target") || c.Has("from") {
			return cmdline.Usagef("-jsonl: takes expressions and ads from standard input, and none besides")
		}
		if c.Has(strictFlag) {
			return cmdline.Usagef("-jsonl and -%s: each record says by itself whether it is strict", strictFlag)
		}
		return records(c, w)
	}
	if len(texts) == 0 {
		return cmdline.Usagef("eval: which expressions? or -jsonl")
	}
	w.Strict = c.Has(strictFlag)
	exprs, my, target, err := expressions(c, texts)
	if err != nil {
		return err
	}
	results := make([]result, len(exprs))
	for i, e := range exprs {
		results[i] = newResult(texts[i], e.Eval(w, my, target))
	}
	if c.Has("json") {
		return c.JSON(results)
	}
	for _, r := range results {
		if _, err := fmt.Fprintln(c.Data(), clean.Escaped(r.Text)); err != nil {
			return err
		}
	}
	return nil
}

// result is a value for programs.
type result struct {
	Expr  string
	Value json.RawMessage // as in an ad that is written as JSON
	Text  string          // in the old style
	Kind  string
}

func newResult(text string, v classad.Value) result {
	return result{Expr: text, Value: asJSON(v), Text: v.String(), Kind: v.Kind().String()}
}

// asJSON returns a value as it stands in an ad that is written as JSON.
func asJSON(v classad.Value) json.RawMessage {
	const name = "v"
	ad := classad.New()
	ad.Set(name, classad.Literal(v))
	object, _ := ad.MarshalJSON() // has no error: see there
	return json.RawMessage(strings.TrimSuffix(strings.TrimPrefix(string(object), `{"`+name+`":`), "}"))
}

// expressions reads the expressions of a command line, and the ads of -my and
// -target. What is wrong with an expression is told.
func expressions(c *cmdline.Call, texts []string) (exprs []*classad.Expr, my, target *classad.Ad, err error) {
	in, err := newInput(c)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, text := range texts {
		e, err := parse(text, c.Has(strictFlag))
		if err != nil {
			tell(c, text, err)
		}
		exprs = append(exprs, e)
	}
	for _, e := range exprs {
		if e == nil {
			return nil, nil, nil, cmdline.ErrReported
		}
	}
	if my, err = in.named(c, "my"); err == nil {
		target, err = in.named(c, "target")
	}
	return exprs, my, target, err
}

// parse compiles an expression of the strict language or of the usual one.
func parse(text string, strict bool) (*classad.Expr, error) {
	if strict {
		return classad.ParseStrictExpr(text)
	}
	return classad.ParseExpr(text)
}

// caretWidth is the longest expression that is shown with a caret below: a
// longer one would be broken by the terminal, and the caret be anywhere.
const caretWidth = 76

// tell says what is wrong with an expression, and points at it.
func tell(c *cmdline.Call, text string, err error) {
	if strings.TrimSpace(text) == "" {
		c.Warn("%q: an expression cannot be empty", text)
		return
	}
	c.Warn("%s: %v", visible(text), err)
	var at *classad.SyntaxError
	if !errors.As(err, &at) || at.Col < 1 || at.Col > len(text)+1 || len(text) > caretWidth || !printable(text) {
		return
	}
	before := utf8.RuneCountInString(text[:at.Col-1])
	fmt.Fprintf(c.Stderr, "    %s\n    %s^\n", text, strings.Repeat(" ", before))
}

// printable reports whether every character takes one place of a line, as far
// as that is known.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 || r >= 0x300 })
}
