// Package classad is the command that evaluates, matches, converts and checks ads that lie in
// files.
package classad

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:  "classad",
		Brief: "evaluate, match, convert and check ads",
		Synopsis: []string{
			"eval [-my FILE] [-target FILE] [-strict-evaluation] [-json] EXPR...",
			"eval -jsonl [-json]",
			"match [-json | -long | -af ATTR...] JOBAD SLOTADS...",
			"match -summary | -explain [-json] JOBAD SLOTADS...",
			"convert [-from FORM] -to FORM [-stop] [FILE...]",
			"refs [-my FILE] [-json] EXPR...",
			"check [-json] [FILE...]",
		},
		About: `Evaluates, matches, converts and checks ads in files. It uses no spool. Files may have ads in long form, new form, JSON or XML; - is standard input. The first word says what to do.

eval prints the value of each expression on a line of its own, as tools and ads of the long form evaluate it. With -jsonl it reads records from standard input instead, one JSON object a line with the texts "expr", "my" and "target" and optionally "strict": true, and prints a line for each: the value, PARSE_ERROR or AD_PARSE_ERROR.

match shows for each slot whether it and the job match, and the Rank that each gives the other; higher is better. -long and -af show the ads of the slots that match. If too few match, -summary counts how many slots each clause of the Requirements excludes, and -explain shows for each slot which side refuses, by which clause, and the values that the clause looked at. Exit status 1 means that no slot matches.

convert writes the ads in another form: long, new or json. It reports bad ads and leaves them out.

refs lists the attributes that an expression needs: those of its own ad (internal) and those that only the other ad can have (external).

check reads the files, and reports how many ads they have and each error.

Write -- before an expression that begins with a minus.`,
		Flags: append([]cmdline.Flag{
			{Name: "my", Args: []string{"FILE"}, Help: "eval, refs: use the first ad in FILE as the ad of the expressions (MY)"},
			{Name: "target", Args: []string{"FILE"}, Help: "eval: use the first ad in FILE as the other ad (TARGET)"},
			{Name: "jsonl", Help: "eval: read records from standard input, one a line, and print a result a line"},
			{Name: "strict-evaluation", Help: "eval: use the language as under STRICT_CLASSAD_EVALUATION, without the additions of daemons"},
			{Name: "summary", Aliases: []string{"better-analyze"}, Help: "match: show how many slots match, and how many each clause excludes"},
			{Name: "explain", Min: 2, Help: "match: show for each slot that does not match which side refuses, and why"},
			{Name: "from", Args: []string{"FORM"}, Help: "read files as FORM, instead of by their first byte: auto, long, new, json or xml"},
			{Name: "to", Args: []string{"FORM"}, Help: "convert: write FORM, which is long, new or json"},
			{Name: "stop", Help: "convert: stop at the first bad ad"},
			{Name: "seed", Args: []string{"N"}, Help: "eval, match: the seed of random(), a whole number (default 0)"},
		}, adprint.Flags...),
		Examples: []cmdline.Example{
			{Does: "the value of an expression", Line: `classad eval '5 / 2' 'undefined || true'`},
			{Does: "its value between a job and a slot", Line: `classad eval -my job.ad -target slot.ad 'TARGET.Memory >= RequestMemory'`},
			{Does: "why nothing matches", Line: "classad match -summary job.ad slots.ads"},
			{Does: "why the slots of one machine do not match", Line: "slots list -long node7 | classad match -explain job.ad -"},
			{Does: "the names of the slots that match", Line: "classad match job.ad slots.ads -af Name"},
			{Does: "the output of a tool as JSON", Line: "condor_status -long | classad convert -to json"},
			{Does: "which attributes a requirement needs", Line: `classad refs -my job.ad 'TARGET.Memory >= RequestMemory'`},
			{Does: "whether ads written by hand can be read", Line: "classad check slots.d/*.ads"},
		},
		WithoutSpool: true,
		Outputs: func() []cmdline.Output {
			return []cmdline.Output{
				{Name: "classad-eval", Value: cmdline.List{Member: "Results", Of: result{}}}, {Name: "classad-eval-jsonl", Value: ""},
				{Name: "classad-match", Value: cmdline.List{Member: "Results", Of: pairing{}}}, {Name: "classad-match-summary", Value: summary{}},
				{Name: "classad-refs", Value: cmdline.List{Member: "Expressions", Of: needs{}}}, {Name: "classad-check", Value: cmdline.List{Member: "Files", Of: checked{}}},
			}
		},
		Actions: []cmdline.Action{
			{Name: "eval", Flags: []string{"my", "target", "jsonl", "strict-evaluation", "from", "seed", "json"}, Run: eval},
			{Name: "match", Flags: []string{"summary", "explain", "from", "seed", "long", "json", "af"}, Run: match},
			{Name: "convert", Flags: []string{"from", "to", "stop"}, Run: convert},
			{Name: "refs", Flags: []string{"my", "from", "json"}, Run: refs},
			{Name: "check", Flags: []string{"from", "json"}, Run: check},
		},
	}
}

// visible is text from an ad as people are shown it: on one line, and without
// characters that a terminal would act on.
func visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n' || r == '\r':
			b.WriteString(clean.Escaped(text[:n]))
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// The bytes of a value and of a clause that are shown to people.
const (
	valueBytes  = 100
	clauseBytes = 400
)

// short makes text visible and cuts it to some bytes.
func short(text string, most int) string {
	if len(text) <= most {
		return visible(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return visible(text[:most]) + "..."
}

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
			return cmdline.Usagef("-jsonl: takes expressions and ads from standard input only")
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
		return c.JSON(struct{ Results []result }{results})
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

// expressions reads the expressions of a command line, and the ads of -my and -target. It
// reports errors in expressions.
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

// tell reports the error of an expression, and points at its place.
func tell(c *cmdline.Call, text string, err error) {
	if strings.TrimSpace(text) == "" {
		c.Warn("%q: an expression cannot be empty", text)
		return
	}
	c.Warn("%s: %v", visible(text), err)
	var at *classad.SyntaxError
	if c.Has("json") || !errors.As(err, &at) || at.Col < 1 || at.Col > len(text)+1 || len(text) > caretWidth || !printable(text) {
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
