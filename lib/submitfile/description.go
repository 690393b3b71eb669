// Package submitfile reads the submit description language: it finds the values of a
// description's names for each of its jobs.
//
// A description is lines of `name = value`, and queue lines that ask for jobs
// with the values then in force:
//
//	executable = simulate
//	seed       = 100$(Process)
//	arguments  = -n $(seed) $(kind)
//	queue 3 kind in (warm, cold)
//
// asks for six jobs, procs 0 to 5: three for each of the items. Names compare without
// case. This package does not know which names have a meaning: lib/jobad makes job ads of
// the values.
//
// Work is done in two steps. Parse reads the text, carries out its conditions and
// includes, and finds the items of every queue line, from files and commands too; all
// outside input comes in through Options. Then Walk goes through the queue lines, and a
// Job through the procs of one: Lookup expands the macros of a value as this proc has
// them.
//
// A Job reports whether a value depended on the proc (Varies), so that its user computes
// once what all procs share.
//
// Everything is bounded: files in files, macros in macros, the length of a
// value. Errors are *Error, with the place and the line's text.
package submitfile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"fairspool/lib/macro"
)

// Options is a description's access to the outside. A nil function means that
// descriptions which need it are refused.
type Options struct {
	// Dir is the absolute path of the folder against which relative paths are
	// taken.
	Dir string
	// Predefined are macros that the surroundings define, such as ARCH, with
	// their values. Names are in capitals.
	Predefined map[string]string
	// Define are lines that stand before the first: NAME=VALUE of a command
	// line. Append are lines that stand before every queue line, NAME = VALUE
	// as well: there are neither conditions nor includes in them.
	Define, Append []string
	// Queue are the arguments of the queue line of a description that has none
	// of its own. HasQueue tells an empty one from none.
	Queue    string
	HasQueue bool

	// LookupEnv serves $ENV(Name); nil means that no name is set.
	LookupEnv func(name string) (value string, ok bool)
	// Read returns the text of a file of included lines or of items. The error for a
	// missing file is fs.ErrNotExist.
	Read func(path string) (string, error)
	// Write keeps the output of `include command into FILE`.
	Write func(path, text string) error
	// Run returns the standard output of a command.
	Run func(words []string) (string, error)
	// Glob returns the paths that match a pattern as written, relative to Dir; sorted,
	// with a slash at the end of folders.
	Glob func(pattern string) ([]string, error)
	// Stdin returns standard input, for `queue from -`.
	Stdin func() (string, error)

	// FailEmptyMatches makes an error of a pattern that nothing matches
	// (submit_fail_empty_matches does so from within a description).
	FailEmptyMatches bool
	// Seed is where $RANDOM_CHOICE and $RANDOM_INTEGER begin. The same seed
	// gives the same jobs.
	Seed uint64
}

// Description is a submit description that was read.
type Description struct {
	file       string
	options    Options
	statements []statement
	hasQueue   bool // the description has a queue line of its own
	texts      map[string]template
	referring  []string // conditions and includes, which use the names that they refer to
	chance     *rand.Rand
}

// statement is an assignment, or a queue line.
type statement struct {
	Assignment
	queue *queue // nil: an assignment
}

// Assignment gives a name a value.
type Assignment struct {
	Name string // as written; +Name is MY.Name
	Text string // as written, with the name's earlier value in place of references to itself
	// Appended says that it is one of Options.Append, Defined one of Options.Define.
	Appended, Defined bool

	at     origin
	folded bool // Text is not what stands in the file
}

// Place returns where the assignment stands.
func (a Assignment) Place() Place { return a.at.place(0) }

// Parse reads a whole description. The name file is used in messages and as
// $(SUBMIT_FILE). It carries out conditions and includes, and finds the items of every
// queue line, but does not expand the values of other names. Warnings come in the order
// of the lines.
func Parse(text, file string, o Options) (*Description, []Warning, error) {
	d := &Description{file: file, options: o, texts: map[string]template{}}
	r := &reader{Description: d, stdin: o.Stdin}
	r.scope = scope{Description: d, vars: map[string]*variable{}, warn: r.note}
	err := r.all(text)
	return d, r.warnings, err
}

// all reads the definitions of the command line, the description, and the queue line of
// the command line.
func (r *reader) all(text string) error {
	if err := r.given(r.options.Define, func(a *Assignment) { a.Defined = true }); err != nil {
		return err
	}
	if err := r.file(text, r.Description.file); err != nil {
		return err
	}
	switch {
	case r.options.HasQueue && r.hasQueue:
		return &Error{Place{File: r.Description.file}, "has a queue line of its own: leave -queue out", nil}
	case r.options.HasQueue:
		return r.file("queue "+r.options.Queue, commandLine)
	case r.hasQueue:
		return nil
	}
	return &Error{Place{File: r.Description.file}, "no queue line, so no jobs: end it with the line queue, or queue N", nil}
}

// commandLine is the name of the command line in place of a file's.
const commandLine = "command line"

// given reads lines of the command line, each of which has to be an assignment. Its value
// is the text behind the first equals sign.
func (r *reader) given(lines []string, mark func(*Assignment)) error {
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		at := commandLineOrigin(line)
		if name = strings.TrimSpace(name); !ok || firstWord(name) != name {
			return at.errorf("%s: want NAME = VALUE", Shorten(line))
		}
		text := strings.TrimLeft(value, blanks)
		a := Assignment{Name: plainName(name), Text: strings.TrimRight(text, blanks), at: at.behind(len(line) - len(text))}
		mark(&a)
		if err := r.set(a, at); err != nil {
			return err
		}
	}
	return nil
}

// blanks do not count at the ends of a value.
const blanks = " \t\r\n"

// commandLineOrigin is where a line of the command line stands.
func commandLineOrigin(line string) origin {
	lines := macro.NewLines(line)
	return origin{file: commandLine, lines: lines, text: line, pieces: []macro.Piece{{Line: 1, Column: 1}}}
}

// refer notes a text that refers to names besides values and queue lines.
func (d *Description) refer(text string) {
	if strings.Contains(text, "$") {
		d.referring = append(d.referring, text)
	}
}

// Assignments returns the description's assignments in their order, without
// those in branches that were not taken.
func (d *Description) Assignments() []Assignment {
	var out []Assignment
	for _, s := range d.statements {
		if s.queue == nil {
			out = append(out, s.Assignment)
		}
	}
	return out
}

// Variables returns the names, in lower case, of the variables of the queue lines.
func (d *Description) Variables() []string {
	var out []string
	for _, s := range d.statements {
		if s.queue != nil {
			out = append(out, s.queue.keys...)
		}
	}
	return out
}

// File returns the name that the description goes by in messages.
func (d *Description) File() string { return d.file }

// Queues returns how many queue lines there are, and how many jobs they ask
// for in all.
func (d *Description) Queues() (lines, jobs int) {
	for _, s := range d.statements {
		if s.queue != nil {
			lines++
			jobs += s.queue.jobs()
		}
	}
	return lines, jobs
}

// origin is the logical line of a text, and the place in it.
type origin struct {
	file   string
	lines  *macro.Lines // nil: nothing is known but the line
	text   string       // the logical line
	pieces []macro.Piece
	line   int
	offset int
	item   *itemAt // the item's; nil: it is no item
	// Of a thawed description, the line of the file and the column, from 1; empty and 0: not known.
	source string
	col    int
}

// itemAt is a field of an item.
type itemAt struct {
	where *written
	row   int
	field string
}

// place returns where that is which stands so many bytes behind.
func (o origin) place(n int) Place {
	if o.item != nil {
		return o.item.where.place(o.item.row, o.item.field)
	}
	p := Place{File: o.file, Line: o.line}
	if o.lines != nil {
		p.Line, p.Col = macro.Place(o.text, o.pieces, o.offset+n)
		p.Source = o.lines.Source(p.Line)
	}
	if o.source != "" {
		p.Source, p.Col = o.source, o.col+o.offset+n
	}
	return p
}

// behind returns the origin of the text n bytes behind.
func (o origin) behind(n int) origin {
	o.offset += n
	return o
}

func (o origin) errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{o.place(0), legible(err.Error()), errors.Unwrap(err)} // causes may be of several lines
}

// Line is an assignment that stands for something in a file of another language.
type Line struct {
	Name string
	Text string // in this language; see Literal
	// Where that stands in the file, from 1. Line 0: it stands nowhere.
	Line, Col int
}

// Make returns the description that consists of lines and of one queue line with the
// arguments queue, which may be empty. The lines stand for the content of text, and
// messages name file. All of Options holds as for Parse; a queue line of Options replaces
// an empty one.
func Make(text, file string, lines []Line, queue string, o Options) (*Description, []Warning, error) {
	d := &Description{file: file, options: o, texts: map[string]template{}}
	r := &reader{Description: d, stdin: o.Stdin}
	r.scope = scope{Description: d, vars: map[string]*variable{}, warn: r.note}
	err := r.made(macro.NewLines(text), lines, queue)
	return d, r.warnings, err
}

func (r *reader) made(source *macro.Lines, lines []Line, queue string) error {
	if err := r.given(r.options.Define, func(a *Assignment) { a.Defined = true }); err != nil {
		return err
	}
	for _, l := range lines {
		at := origin{file: r.Description.file, lines: source, text: l.Text, pieces: []macro.Piece{{Line: l.Line, Column: l.Col}}}
		if err := r.set(Assignment{Name: l.Name, Text: l.Text, at: at}, at); err != nil {
			return err
		}
	}
	switch {
	case r.options.HasQueue && queue != "":
		return &Error{Place{File: r.Description.file}, "says itself how many jobs it asks for: leave -queue out", nil}
	case r.options.HasQueue:
		queue = r.options.Queue
	}
	return r.file("queue "+queue, commandLine)
}

// Literal returns a literal text in the notation of a description: none of its dollar
// signs begins a macro, when the description is read or when the job starts.
func Literal(text string) string {
	const late, mask = "$$(", "\x00"
	text = strings.ReplaceAll(strings.ReplaceAll(text, mask, ""), late, mask)
	text = strings.ReplaceAll(text, "$", "$(DOLLAR)")
	return strings.ReplaceAll(text, mask, "$$(DOLLARDOLLAR)(")
}

// Place is where something stands. The zero Place is the description as a
// whole.
type Place struct {
	File   string
	Line   int    // from 1; 0: the file as a whole
	Col    int    // in characters from 1; 0: the line as a whole
	Source string // the line's text
}

// prefix returns "file:line: ", as far as it is known.
func (p Place) prefix() string {
	switch {
	case p.File == "" && p.Line == 0:
		return ""
	case p.Line == 0 || p.File == commandLine:
		return p.File + ": "
	case p.File == "":
		return fmt.Sprintf("%d: ", p.Line)
	}
	return fmt.Sprintf("%s:%d: ", p.File, p.Line)
}

// mostSource is how many characters of a line an excerpt shows.
const mostSource = 100

// Excerpt returns the line and a caret under the place, as two indented
// lines; empty when column or text are unknown. Of a long line it shows what
// stands around the place.
func (p Place) Excerpt() string {
	if p.Col < 1 || p.Source == "" || p.Col > len(p.Source)+1 {
		return ""
	}
	line, at := []rune(legible(p.Source)), p.Col-1
	if at > len(line) {
		return ""
	}
	before, behind := "", ""
	if from := at - mostSource*3/4; from > 0 && len(line) > mostSource {
		before, line, at = "...", line[from:], at-from
	}
	if len(line) > mostSource {
		behind, line = "...", line[:mostSource]
	}
	const indent = "    "
	width := len(before)
	for _, r := range line[:at] {
		width += columns(r)
	}
	return indent + before + string(line) + behind + "\n" + indent + strings.Repeat(" ", width) + "^"
}

// columns returns how many columns of a terminal a character takes.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		0x3000 <= r && r <= 0x303e, 0xff01 <= r && r <= 0xff60, 0x1f300 <= r && r <= 0x1faff:
		return 2
	}
	return 1
}

// legible replaces each control character, a tab included, by a blank, so that columns
// stay, and each byte that is not UTF-8 by a replacement character.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

// Error is something wrong with a description.
type Error struct {
	Place
	Msg string
	Err error // the cause, may be nil; Msg has its text
}

// Error returns "file:line: msg".
func (e *Error) Error() string { return e.prefix() + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Warning is something in a description that may be a mistake.
type Warning struct {
	Place
	Msg       string
	Undefined string // the name of a macro that stands there and is not defined; empty: it is about something else
}

// String returns "file:line: msg".
func (w Warning) String() string { return w.prefix() + w.Msg }

// Shorten returns a quoted text as a message may have it: not too long, and on one
// line.
func Shorten(text string) string {
	const most = 60
	text = legible(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
