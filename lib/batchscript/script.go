// Package batchscript translates the directives of batch scripts of Slurm, Grid Engine and PBS
// to submit commands.
//
// Is reports whether a text is a batch script, and Read parses one: the interpreter of its
// first line, and a submit command (a submitfile.Line) for each directive that has a meaning
// here, with the place of the directive. A directive without one is a warning with its place. A
// value that its system would refuse too is an error, and so is a directive without which the
// job would do harm: a dependency that cannot be kept.
//
// The directives of a system are in a file named for it, as a table of all options of the
// system's sbatch or qsub. batch.go has the common parts, and those that need all directives,
// such as the number of cores of so many tasks.
//
// The package is pure: the folder of submission, the time and the kinds of paths come in
// through Options.
package batchscript

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"fairspool/lib/submitfile"
)

// Options is the other input of a script's meaning besides its text.
type Options struct {
	Name string // of the script, without folders: the job's name unless a directive gives one
	// JobName is the job's name, whatever directives say; empty: they say it.
	JobName string
	Dir     string // the absolute path of the folder of submission
	Now     time.Time
	// IsFolder reports whether a path, from Dir, is a folder; nil: none is.
	IsFolder func(path string) bool
	// IsGroup reports whether there is an accounting group of a name; nil: there is none.
	IsGroup func(name string) bool
	// LookupEnv returns a variable of the submitter; nil: none is set.
	LookupEnv func(name string) (value string, ok bool)
}

// Script is the result of a batch script.
type Script struct {
	Name string // of the job
	// Interpreter is what its first line, or -S, has the script run by: a path, and perhaps one
	// argument. Empty: nothing is said.
	Interpreter []string
	// InterpreterAt is where that stands.
	InterpreterAt submitfile.Place
	// Lines are the submit commands that it means, each name once.
	Lines []submitfile.Line
	// Queue are the arguments of the queue line; empty for one job.
	Queue string
	// Arguments are the script's arguments from a directive.
	Arguments []string
}

// system is a batch system.
type system struct {
	kind    kind
	name    string // of the command that reads the directives
	prefix  string // of a directive
	anyLine bool   // directives may stand anywhere, and not only before the first command
	// takes reports whether what follows the prefix makes a line a directive.
	takes   func(rest string) bool
	options []option
	exact   bool // options are one dash and their whole name
	environ func(*batch) []string
}

// Is reports whether a text is a batch script: its first line names an interpreter that is not
// submit itself, or the lines before its first command have directives in them and the text is
// no submit description.
func Is(text string) bool {
	if line, ok := interpreterLine(text); ok {
		return !runsSubmit(line)
	}
	return systemOf(text) != nil && !isDescription(text)
}

// interpreterLine returns what follows the #! of the first line.
func interpreterLine(text string) (string, bool) {
	line, _, _ := strings.Cut(text, "\n")
	return strings.CutPrefix(line, "#!")
}

// runsSubmit reports whether an interpreter is submit, or HTCondor's, perhaps by env(1).
func runsSubmit(line string) bool {
	words := strings.Fields(line)
	if len(words) > 1 && path.Base(words[0]) == "env" {
		words = words[1:]
		for len(words) > 1 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return false
	}
	name := path.Base(words[0])
	return name == "submit" || name == "condor_submit" || strings.HasSuffix(name, "-submit")
}

// ofDescription are lines that a submit description has and a script has not.
var ofDescription = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[ \t]*(queue([ \t]|\r?$)|(executable|universe|shell)[ \t]*=)`)
})

func isDescription(text string) bool { return ofDescription().MatchString(text) }

// systemOf returns the system of the first directive in the head of a script; nil if
// there is none.
func systemOf(text string) *system {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		switch s := systemOfLine(line); {
		case s != nil:
			return s
		case endsHead(line):
			return nil
		}
	}
	return nil
}

// endsHead reports whether a line is neither a comment nor blank.
func endsHead(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}

var systems = sync.OnceValue(func() []*system { return []*system{slurm(), gridEngine(), pbs()} })

func systemOfLine(line string) *system {
	for _, s := range systems() {
		if _, ok := s.directive(line); ok {
			return s
		}
	}
	return nil
}

// directive returns what follows the prefix of a directive.
func (s *system) directive(line string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(line, s.prefix)
	return rest, ok && s.takes(rest)
}

type kind byte

const (
	ofSlurm kind = iota + 1
	ofGridEngine
	ofPBS
)

// is reports whether the directives are of a system.
func (b *batch) is(k kind) bool { return b.system != nil && b.system.kind == k }

// afterBlank takes a prefix that is a word of its own.
func afterBlank(rest string) bool { return rest != "" && (rest[0] == ' ' || rest[0] == '\t') }

// beforeDash takes a prefix with an option behind it.
func beforeDash(rest string) bool { return strings.HasPrefix(strings.TrimLeft(rest, " \t"), "-") }

// Read takes a batch script apart. Warnings come in the order of the lines; the name file is
// used in them and in errors, which are *submitfile.Error.
func Read(text, file string, o Options) (Script, []submitfile.Warning, error) {
	b := &batch{Options: o, file: file, system: systemOf(text), number: map[string]given{}}
	b.all = b.system == nil || b.is(ofSlurm) // qsub hands nothing on unless it is asked to
	err := b.read(text)
	if err == nil {
		err = b.finish()
	}
	if err != nil {
		return Script{}, b.warnings, err
	}
	slices.SortStableFunc(b.warnings, func(a, b submitfile.Warning) int { return a.Line - b.Line })
	return b.script, b.warnings, nil
}

// read reads the interpreter and the directives.
func (b *batch) read(text string) error {
	if strings.Contains(text, "\x00") {
		return &submitfile.Error{Place: submitfile.Place{File: b.file}, Msg: "a NUL byte: neither a script nor a submit description: for a program, submit -- COMMAND"}
	}
	inHead, others := true, false
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		at := submitfile.Place{File: b.file, Line: number, Source: strings.TrimRight(line, "\r")}
		if number == 1 {
			if err := b.interpreter(line, at); err != nil {
				return err
			}
		}
		line = strings.TrimRight(line, "\r")
		inHead = inHead && !endsHead(line)
		if b.system == nil {
			continue
		}
		rest, ok := b.system.directive(line)
		switch {
		case ok && (inHead || b.system.anyLine):
			if err := b.directive(rest, at); err != nil {
				return err
			}
		case ok:
			b.warn(at, "%s: is after the first command, ignored", b.system.prefix)
		case inHead && !others && systemOfLine(line) != nil:
			others = true
			b.warn(at, "%s: ignored: the script's %s lines count", systemOfLine(line).prefix, b.system.prefix)
		}
	}
	return nil
}

// interpreter reads the first line.
func (b *batch) interpreter(line string, at submitfile.Place) error {
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return nil
	}
	if strings.HasSuffix(rest, "\r") {
		return &submitfile.Error{Place: at, Msg: "the lines end as those of Windows: no interpreter would be found: dos2unix the script"}
	}
	at.Col = len(line) - len(strings.TrimLeft(rest, " \t")) + 1
	name, argument, _ := strings.Cut(strings.Trim(rest, " \t"), " ")
	if i := strings.IndexByte(name, '\t'); i >= 0 {
		name, argument = name[:i], name[i+1:]+" "+argument
	}
	if name == "" {
		return nil
	}
	b.script.Interpreter, b.script.InterpreterAt = []string{name}, at
	if argument = strings.Trim(argument, " \t"); argument != "" {
		b.script.Interpreter = append(b.script.Interpreter, argument)
	}
	return nil
}

// word is one of a directive.
type word struct {
	text string
	at   submitfile.Place
}

// wordsOf parts what follows the prefix of a directive as a shell does. A # that begins a word
// begins a comment.
func wordsOf(rest string, at submitfile.Place) ([]word, error) {
	var words []word
	before := len(at.Source) - len(rest)
	var text strings.Builder
	begun, quote, begin := false, byte(0), 0
	place := func(i int) submitfile.Place {
		p := at
		p.Col = utf8.RuneCountInString(at.Source[:before+i]) + 1
		return p
	}
	for i := 0; i <= len(rest); i++ {
		var c byte
		if i < len(rest) {
			c = rest[i]
		}
		switch {
		case i == len(rest) && quote != 0:
			return nil, &submitfile.Error{Place: place(begin), Msg: fmt.Sprintf("a quote %c that nothing closes", quote)}
		case i == len(rest), quote == 0 && (c == ' ' || c == '\t'):
			if begun {
				words = append(words, word{text.String(), place(begin)})
			}
			text.Reset()
			begun = false
			continue
		case !begun && c == '#':
			return words, nil
		}
		if !begun {
			begun, begin = true, i
		}
		switch {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == '\\' && quote != '\'' && i+1 < len(rest) && (quote == 0 || rest[i+1] == '"' || rest[i+1] == '\\'):
			i++
			text.WriteByte(rest[i])
		default:
			text.WriteByte(c)
		}
	}
	return words, nil
}
