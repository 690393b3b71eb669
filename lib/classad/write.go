package classad

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

var formNames = [...]string{"auto", "long", "new", "json", "xml"}

// String returns the name that ParseForm knows.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "unknown"
}

// ParseForm returns the form of a name: auto, long, new, json or xml.
func ParseForm(name string) (Form, error) {
	for f, n := range formNames {
		if n == name {
			return Form(f), nil
		}
	}
	return FormAuto, fmt.Errorf("form %q: want one of %s", name, strings.Join(formNames[:], ", "))
}

// ErrUnwritable is what the errors of (*Writer).Write wrap that are about the
// ad and not about the stream.
var ErrUnwritable = errors.New("ad cannot be written")

// errClosed is the state of a Writer behind Close.
var errClosed = errors.New("write after the end of the stream")

// Writer writes a stream of ads in one form, inherited attributes included,
// sorted by name without regard to case. A Reader that was told the form reads back
// the same ads, with these exceptions: in the long form a line break in a string becomes a
// blank, and in JSON bytes that are not UTF-8 become U+FFFD, for these forms
// have no way to write them.
type Writer struct {
	w     *bufio.Writer
	form  Form
	count int
	ad    []byte
	err   error
}

// NewWriter returns a Writer to w. What it writes is complete when Close has
// returned. A form that is for readers only makes every call fail.
func NewWriter(w io.Writer, f Form) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 64<<10), form: f}
	if f != FormLong && f != FormNew && f != FormJSON {
		out.err = fmt.Errorf("form %v: can be read and not written: want long, new or json", f)
	}
	return out
}

// Write writes one ad.
//
// An ad that the long form cannot hold is refused with an error that wraps
// ErrUnwritable: an ad without attributes, a name that would be read as
// something else, an expression that no long-form text stands for (a string
// that ends in a backslash before the end of the line). Nothing of it is
// written then, and the next ad may be. Every other error stays.
func (w *Writer) Write(ad *Ad) error {
	if w.err != nil {
		return w.err
	}
	var refused error
	switch w.form {
	case FormLong:
		w.ad, refused = appendLongAd(w.ad[:0], ad, w.count > 0)
	case FormNew:
		w.ad = append(appendAd(w.ad[:0], ad, StyleSpool), '\n')
	case FormJSON:
		lead := ",\n"
		if w.count == 0 {
			lead = "[\n"
		}
		w.ad = appendJSONAd(append(w.ad[:0], lead...), ad)
	}
	if refused != nil {
		return refused
	}
	w.count++
	_, w.err = w.w.Write(w.ad)
	return w.err
}

// Close writes what is left and the end of the stream; it does not close the
// writer below. An empty stream is an empty array in JSON, and nothing in the
// other forms.
func (w *Writer) Close() error {
	if w.err != nil {
		if errors.Is(w.err, errClosed) {
			return nil
		}
		return w.err
	}
	if w.form == FormJSON {
		end := "\n]\n"
		if w.count == 0 {
			end = "[]\n"
		}
		w.w.WriteString(end) // Flush has its error
	}
	if w.err = w.w.Flush(); w.err != nil {
		return w.err
	}
	w.err = errClosed
	return nil
}

// appendLongAd appends the lines of an ad, behind a blank line if one has to
// part it from the ad before.
func appendLongAd(b []byte, ad *Ad, apart bool) ([]byte, error) {
	if apart {
		b = append(b, '\n')
	}
	entries := orderedEntries(ad, StyleSpool)
	if len(entries) == 0 {
		return b, fmt.Errorf("%w: the long form has no ad without attributes", ErrUnwritable)
	}
	for _, e := range entries {
		if why := unlike(e.name); why != "" {
			return b, fmt.Errorf("%w: in the long form no name %s: %q", ErrUnwritable, why, e.name)
		}
		var ok bool
		if b, ok = appendLongExpr(append(append(b, e.name...), " = "...), e.expr); !ok {
			return b, fmt.Errorf("%w: %s: the long form has no way to write %s", ErrUnwritable, e.name, e.expr.Format(StyleSpool))
		}
		b = append(b, '\n')
	}
	return b, nil
}

// unlike says why a long-form line cannot begin with a name; "" when it can.
func unlike(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.ContainsAny(name, "=\n\r"):
		return "has an equals sign or a line break"
	case space(name[0]) || name[len(name)-1] == ' ':
		return "begins or ends with a blank"
	case strings.IndexByte("#[{<", name[0]) >= 0, strings.HasPrefix(name, "***"), strings.HasPrefix(name, "-- "):
		return "begins like a comment, a separator or another form"
	}
	return ""
}

// appendLongExpr appends an expression in the Old style or, where that would
// be read as something else (a real number that needs 17 digits, a quoted name
// behind a point), in the Spool style; ok is false if that would be too.
func appendLongExpr(b []byte, e *Expr) (text []byte, ok bool) {
	at := len(b)
	b = e.AppendTo(b, StyleOld)
	if e.constant() && e.lit.kind >= KindBoolean && e.lit.kind <= KindString && e.lit.kind != KindReal {
		blanks(b[at:])
		return b, true
	}
	want := e.Format(StyleSpool)
	if blanks(b[at:]) {
		_, err := ParseLongExpr(string(b[at:]))
		return b, err == nil
	}
	if readsAs(string(b[at:]), want) {
		return b, true
	}
	return append(b[:at], want...), readsAs(want, want)
}

// blanks makes line breaks blanks, and tells whether there were any.
func blanks(b []byte) (any bool) {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i], any = ' ', true
		}
	}
	return any
}

// readsAs tells whether the whole of a long-form text is the expression that
// the Spool style writes so.
func readsAs(text, spool string) bool {
	e, err := ParseLongExpr(text)
	return err == nil && e.Format(StyleSpool) == spool
}
