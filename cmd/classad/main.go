// Command classad evaluates, matches, converts and checks ads that lie in
// files.
package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/clean"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
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
		About: `A tool for those who write ads, and for tests. It works on files and not on the spool. A file may have ads in long form, new form, JSON or XML; - is standard input. The first word says what to do.

eval prints the value of each expression on a line of its own, as tools and ads of the long form have it. With -jsonl it reads records from standard input instead, one JSON object a line with the texts "expr", "my" and "target" and perhaps "strict": true, and prints a line for each: the value, PARSE_ERROR or AD_PARSE_ERROR.

match tells of each slot whether it and the job match, and the Rank that each gives the other. Higher ranks are better. -long and -af show the ads of the slots that match. Where too few do, -summary counts for how many slots each clause of the Requirements is the reason, and -explain says of each slot who refuses, by which clause, and what that clause looked at. Exit status 1 means that no slot matches.

convert writes the ads in another form: long, new or json. Bad ads are told of and left out.

refs says which attributes an expression needs: those of its own ad (internal) and those that only the other ad can have (external).

check reads the files and says how many ads they have and what is wrong with them.

An expression that begins with a minus has to stand behind --.`,
		Flags: append([]cmdline.Flag{
			{Name: "my", Args: []string{"FILE"}, Help: "eval, refs: the ad that the expressions belong to is the first in FILE"},
			{Name: "target", Args: []string{"FILE"}, Help: "eval: the ad opposite, TARGET, is the first in FILE"},
			{Name: "jsonl", Help: "eval: read records from standard input, one a line, and print a result a line"},
			{Name: "strict-evaluation", Help: "eval: the language as under STRICT_CLASSAD_EVALUATION, without what daemons add to it"},
			{Name: "summary", Aliases: []string{"better-analyze"}, Help: "match: say how many slots match, and which clauses keep how many from it"},
			{Name: "explain", Min: 2, Help: "match: say of each slot that does not match who refuses, and why"},
			{Name: "from", Args: []string{"FORM"}, Help: "take files for FORM instead of looking at their first byte: auto, long, new, json or xml"},
			{Name: "to", Args: []string{"FORM"}, Help: "convert: write FORM, which is long, new or json"},
			{Name: "stop", Help: "convert: stop at the first bad ad"},
			{Name: "seed", Args: []string{"N"}, Help: "eval, match: what random() follows from, a whole number (default 0)"},
		}, adprint.Flags...),
		Examples: []cmdline.Example{
			{Does: "what an expression is worth", Line: `classad eval '5 / 2' 'undefined || true'`},
			{Does: "what it is worth between a job and a slot", Line: `classad eval -my job.ad -target slot.ad 'TARGET.Memory >= RequestMemory'`},
			{Does: "why nothing matches", Line: "classad match -summary job.ad slots.ads"},
			{Does: "and why the slots of one machine do not", Line: "slots list -long node7 | classad match -explain job.ad -"},
			{Does: "the names of the slots that match", Line: "classad match job.ad slots.ads -af Name"},
			{Does: "the output of a tool as JSON", Line: "condor_status -long | classad convert -to json"},
			{Does: "which attributes a requirement needs", Line: `classad refs -my job.ad 'TARGET.Memory >= RequestMemory'`},
			{Does: "whether ads written by hand can be read", Line: "classad check slots.d/*.ads"},
		},
		WithoutSpool: true,
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
