package submitfile

import (
	"strings"

	"fairspool/lib/macro"
)

// Line is an assignment that stands for something in a file of another language.
type Line struct {
	Name string
	Text string // in this language; see Literal
	// Where that stands in the file, from 1. Line 0: it stands nowhere.
	Line, Col int
}

// Make returns the description that consists of lines and of one queue line with the
// arguments queue, which may be empty. The lines stand for what is in text, which file
// names in messages. All of Options holds as for Parse; a queue line of theirs takes the
// place of an empty one.
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

// Literal returns what is written in a description for a text that stands for itself: none
// of its dollar signs begins a macro, when the description is read or when the job starts.
func Literal(text string) string {
	const late, mask = "$$(", "\x00"
	text = strings.ReplaceAll(strings.ReplaceAll(text, mask, ""), late, mask)
	text = strings.ReplaceAll(text, "$", "$(DOLLAR)")
	return strings.ReplaceAll(text, mask, "$$(DOLLARDOLLAR)(")
}
