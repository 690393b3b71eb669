package cmdline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fairspool/lib/clean"
)

// A shell that completes a command line calls the command with the words before the cursor, the word at the cursor,
// which may be empty, and the library's completion flag at the end. The answer has a line for each possible word, with
// a tab and its meaning; no line means names of files. The library would complete the flags as it parses them, not as
// users type them (see tokens), so only its flag is used.
const completionFlag = "--generate-bash-completion"

// mostCompletions is how many words are offered.
const mostCompletions = 500

// Completion is a word that may stand at the cursor.
type Completion struct{ Word, Meaning string }

// completing returns the words of a command line that a shell asks to be completed.
func completing(args []string) (words []string, is bool) {
	n := len(args)
	if n < 2 || args[n-1] != completionFlag {
		return nil, false
	}
	return args[:n-1], true
}

// complete answers a shell. What cannot be told, such as names in a spool that cannot be read, is not offered: nothing is
// an error.
func (s Surroundings) complete(c Command, words, typed []string, stdin io.Reader, stdout, stderr io.Writer) error {
	before, current := words[:len(words)-1], words[len(words)-1]
	e := c.expected(before, current)
	list := e.words
	if c.Names != nil && len(e.nouns) > 0 {
		asks := Command{Name: c.Name, Served: c.Served, Run: func(call *Call) error {
			for _, noun := range e.nouns {
				list = append(list, c.Names(call, noun, e.current)...)
			}
			e.write(call.Stdout, list)
			return nil
		}}
		line := append([]string{c.Name}, e.common...)
		if s.app(asks, nil, typed, nil, stdin, stdout, io.Discard).Run(line) == nil {
			return nil
		}
	}
	e.write(stdout, list)
	return nil
}

// expectation is what may stand at the cursor.
type expectation struct {
	words   []Completion
	nouns   []string // what Command.Names knows, as flags call their arguments
	kept    string   // what stands before current in the word, up to a comma
	current string
	after   string   // what follows a word
	common  []string // the common flags that were given, as the library has them
}

// write writes the words that begin with what was typed.
func (e expectation) write(w io.Writer, list []Completion) {
	list = slices.DeleteFunc(slices.Clone(list), func(x Completion) bool { return !strings.HasPrefix(x.Word, e.current) || !typable(x.Word) })
	for _, x := range list[:min(len(list), mostCompletions)] {
		fmt.Fprintf(w, "%s%s%s\t%s\n", e.kept, x.Word, e.after, clean.Shortened(clean.Line(x.Meaning), 60))
	}
}

// typable reports whether a shell takes a word as it is. Others are not offered: a name is what its owner chose.
func typable(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._@:/+-", r))
	})
}

// expected returns what may stand behind words, where current has been typed.
func (c Command) expected(before []string, current string) (e expectation) {
	e.current = current
	var args []string
	for i := 0; i < len(before); {
		word := before[i]
		f, isFlag := c.find(strings.TrimLeft(word, "-"), strings.HasPrefix(word, "--"))
		switch {
		case word == "--":
			if !c.CommandLine {
				e.nouns = c.Takes
			}
			return e
		case len(word) < 2 || word[0] != '-' || !isFlag:
			args = append(args, word)
			i++
			continue
		}
		given := before[i+1:]
		n := min(len(f.Args), len(given))
		for f.variadic() && n < len(given) && !strings.HasPrefix(given[n], "-") {
			n++
		}
		if n == len(given) && (n < len(f.Args) || f.variadic()) && !strings.HasPrefix(current, "-") {
			e.argument(f.Args[min(n, len(f.Args)-1)])
			return e
		}
		if slices.ContainsFunc(common, func(x Flag) bool { return x.Name == f.Name }) && n == 1 {
			e.common = append(e.common, "--"+f.Name+"="+given[0])
		}
		i += 1 + n
	}
	var action *Action
	if len(args) > 0 {
		if k := slices.IndexFunc(c.Actions, func(a Action) bool { return a.Name == args[0] }); k >= 0 {
			action = &c.Actions[k]
		}
	}
	switch {
	case strings.HasPrefix(current, "-"):
		for _, f := range c.AllFlags() {
			if action == nil || slices.Contains(action.Flags, f.Name) || slices.ContainsFunc(c.commonFlags(), func(x Flag) bool { return x.Name == f.Name }) {
				e.words = append(e.words, Completion{"-" + f.Name, f.Help})
			}
		}
	case len(c.Actions) > 0 && len(args) == 0:
		for _, a := range c.Actions {
			e.words = append(e.words, Completion{a.Name, ""})
		}
	default:
		e.nouns = c.Takes
	}
	return e
}

// argument turns a flag's name of its argument into the expectation: "USER[,USER...]" is a list of users, "c|d|t" one
// of three words.
func (e *expectation) argument(name string) {
	name = strings.Trim(name, "[]")
	noun, list, several := strings.Cut(name, "[,")
	switch {
	case several && strings.HasPrefix(list, noun):
		if k := strings.LastIndexByte(e.current, ','); k >= 0 {
			e.kept, e.current = e.current[:k+1], e.current[k+1:]
		}
	case strings.Contains(name, "|"):
		for _, word := range strings.Split(name, "|") {
			e.words = append(e.words, Completion{Word: word})
		}
		return
	}
	if before, _, ok := strings.Cut(noun, "="); ok {
		noun, e.after = before, "="
	}
	e.nouns = []string{strings.TrimSuffix(noun, "...")}
}
