// Command classad evaluates, matches, converts and checks ads that lie in
// files.
package main

import (
	"slices"
	"strings"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:  "classad",
		Brief: "evaluate, match, convert and check ads",
		Synopsis: []string{
			"eval [-my FILE] [-target FILE] [-json] EXPR...",
			"eval -jsonl [-json]",
			"match [-explain] [-long | -json | -af ATTR...] JOBAD SLOTADS...",
			"convert [-from FORM] -to FORM [-strict] [FILE...]",
			"refs [-my FILE] [-json] EXPR...",
			"check [-json] [FILE...]",
		},
		About: `A tool for those who write ads, and for tests. It works on files and not on the spool. A file may have ads in long form, new form, JSON or XML; - is standard input.

eval prints the value of each expression on a line of its own, as tools and ads of the long form have it. With -jsonl it reads records from standard input instead, one JSON object a line with the texts "expr", "my" and "target", and prints a line for each: the value, PARSE_ERROR or AD_PARSE_ERROR.

match tells of each slot whether it and the job match, and the Rank that each gives the other. Higher ranks are better. With -explain it says who refuses, by which clause of the Requirements, and what that clause looked at. -long, -json and -af show the ads of the slots that match. Exit status 1 means that no slot does.

convert writes the ads in another form: long, new or json. Bad ads are told of and left out.

refs says which attributes an expression needs: those of its own ad (internal) and those that only the other ad can have (external).

check reads the files and says how many ads they have and what is wrong with them.

An expression that begins with a minus has to stand behind --.`,
		Flags: append([]cmdline.Flag{
			{Name: "my", Args: []string{"FILE"}, Help: "eval, refs: the ad that the expressions belong to is the first in FILE"},
			{Name: "target", Args: []string{"FILE"}, Help: "eval: the ad opposite, TARGET, is the first in FILE"},
			{Name: "jsonl", Help: "eval: read records from standard input, one a line, and print a result a line"},
			{Name: "explain", Min: 2, Help: "match: say of each slot that does not match who refuses, and why"},
			{Name: "from", Args: []string{"FORM"}, Help: "take files for FORM instead of looking at their first byte: auto, long, new, json or xml"},
			{Name: "to", Args: []string{"FORM"}, Help: "convert: write FORM, which is long, new or json"},
			{Name: "strict", Help: "convert: stop at the first bad ad"},
			{Name: "seed", Args: []string{"N"}, Help: "eval, match: what random() follows from, a whole number (default 0)"},
		}, adprint.Flags...),
		Examples: []cmdline.Example{
			{Does: "what an expression is worth", Line: `classad eval '5 / 2' 'undefined || true'`},
			{Does: "what it is worth between a job and a slot", Line: `classad eval -my job.ad -target slot.ad 'TARGET.Memory >= RequestMemory'`},
			{Does: "why nothing matches", Line: "classad match -explain job.ad slots.ads"},
			{Does: "the names of the slots that match", Line: "classad match job.ad slots.ads -af Name"},
			{Does: "the output of a tool as JSON", Line: "condor_status -long | classad convert -to json"},
			{Does: "which attributes a requirement needs", Line: `classad refs -my job.ad 'TARGET.Memory >= RequestMemory'`},
			{Does: "whether ads written by hand can be read", Line: "classad check slots.d/*.ads"},
		},
		Run: run,
	}
}

// actions are the words that say what to do, with the flags that each knows.
var actions = []struct {
	name  string
	flags []string
	run   func(*cmdline.Call, []string) error
}{
	{"eval", []string{"my", "target", "jsonl", "from", "seed", "json"}, eval},
	{"match", []string{"explain", "from", "seed", "long", "json", "af"}, match},
	{"convert", []string{"from", "to", "strict"}, convert},
	{"refs", []string{"my", "from", "json"}, refs},
	{"check", []string{"from", "json"}, check},
}

func run(c *cmdline.Call) error {
	if len(c.Args) == 0 {
		return cmdline.Usagef("what to do? one of %s", actionNames())
	}
	for _, a := range actions {
		if a.name != c.Args[0] {
			continue
		}
		for _, f := range command().Flags {
			if c.Has(f.Name) && !slices.Contains(a.flags, f.Name) {
				return cmdline.Usagef("-%s: has no meaning for %s", f.Name, a.name)
			}
		}
		return a.run(c, c.Args[1:])
	}
	return cmdline.Usagef("%s: unknown action: want one of %s", c.Args[0], actionNames())
}

func actionNames() string {
	var names []string
	for _, a := range actions {
		names = append(names, a.name)
	}
	return strings.Join(names, ", ")
}
