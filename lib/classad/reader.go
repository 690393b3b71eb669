package classad

import (
	"bufio"
	"io"
)

// Reader reads a stream of ads. The first byte that is not blank tells the
// form: "[" begins new-form ads, or JSON if a "{" follows or nothing but "]";
// "{" begins JSON, "<" XML, everything else is the long form. SetForm says so
// beforehand.
//
// A bad ad is a *SyntaxError, and the next call goes on behind it as far as
// its end can be told: in the long form behind the next blank line, in the new
// form at the next line that begins with "[".
//
// In the long form, ads stand between blank lines. Lines that begin with # are
// comments, and so are the headings "-- Schedd: ..." of condor_q; a line of
// three stars and more, as in history files, separates ads like a blank line.
// An expression that is not complete at the end of its line goes on in the
// next line if that is indented. A bad line makes its whole ad an error. A NUL
// byte makes an ad an error wherever it stands, save in a comment between
// long-form lines.
//
// Equal names and expressions of the ads share memory, see Intern. New-form,
// JSON and XML ads are returned as soon as their end is read, long-form ones
// with the blank line or the end of the stream behind them.
type Reader struct {
	r      *bufio.Reader
	file   string
	form   Form
	line   int // of the line read last
	start  int // of the ad returned last
	intern *Interner
	texts  texts
	begun  bool
	blanks int // of the first line, read already

	ads   builder
	long  longForm
	new   newForm
	other stream // of JSON and XML
}

// NewReader returns a Reader of r. The file's name is for messages only. The
// first error of r ends the stream, io.EOF too: r is not read any more.
func NewReader(r io.Reader, file string) *Reader {
	return &Reader{r: bufio.NewReaderSize(&source{r: r}, 64<<10), file: file}
}

// source is the reader that a Reader reads from, with its first error for ever:
// what comes behind a gap must not be taken for what goes on.
type source struct {
	r   io.Reader
	err error
}

// Read reads something or returns an error.
func (s *source) Read(b []byte) (n int, err error) {
	for range maxIdleReads {
		if s.err != nil {
			return 0, s.err
		}
		n, s.err = s.r.Read(b)
		if n > 0 || len(b) == 0 {
			return n, s.err
		}
	}
	if s.err == nil {
		s.err = io.ErrNoProgress
	}
	return 0, s.err
}

// maxIdleReads is how often a reader may return nothing and no error.
const maxIdleReads = 100

// Intern makes the ads to come share equal expressions and names with those of
// other Readers that were given the same Interner. A nil one changes nothing.
func (r *Reader) Intern(i *Interner) {
	if i == nil {
		return
	}
	r.intern = i
	if r.other != nil {
		r.other.share(i)
	}
}

// SetForm says which form the stream has. It is called before the first Next.
func (r *Reader) SetForm(f Form) { r.form = f }

// Line returns the line, from 1, on which the ad last returned began. With an
// error it is where the bad ad began.
func (r *Reader) Line() int {
	if r.other != nil {
		return r.other.start()
	}
	return r.start
}

// Next returns the next ad. It returns io.EOF at the end, a *SyntaxError for an
// ad that is not one or is larger than 64 MB, and errors of the underlying
// reader as they are, again and again. An ad that such an error cuts off is
// lost.
func (r *Reader) Next() (*Ad, error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	switch {
	case r.other != nil:
		return r.other.next()
	case r.form == FormNew:
		return r.nextNew()
	}
	return r.nextLong()
}

// byteOrderMark is what some editors put before UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// begin looks at the first bytes that are not blank.
func (r *Reader) begin() error {
	if r.intern == nil {
		r.intern = NewInterner()
	}
	if err := r.skipMark(); err != nil {
		return err
	}
	for {
		c, err := r.r.ReadByte()
		switch {
		case err != nil:
			return err
		case c == '\n':
			r.line++
			r.blanks = 0
		case !space(c):
			if err := r.r.UnreadByte(); err != nil {
				return err
			}
			if r.form == FormAuto {
				r.form = r.guess(c)
			}
			r.begun = true
			r.open()
			return nil
		case r.blanks == maxAdText:
			r.blanks, r.start = 0, r.line+1
			return r.tooLong(r.start, 1)
		default:
			r.blanks++
		}
	}
}

// skipMark passes a byte order mark. It waits for no more than the first byte
// when that begins none.
func (r *Reader) skipMark() error {
	if first, err := r.r.Peek(1); err != nil || first[0] != byteOrderMark[0] {
		return err
	}
	if mark, _ := r.r.Peek(len(byteOrderMark)); string(mark) != byteOrderMark {
		return nil
	}
	_, err := r.r.Discard(len(byteOrderMark))
	return err
}

// guess tells the form by its first byte.
func (r *Reader) guess(first byte) Form {
	switch first {
	case '{':
		return FormJSON
	case '<':
		return FormXML
	case '[':
		return r.guessList()
	}
	return FormLong
}

// guessList tells new-form ads from a JSON array. It reads no more than it
// must, for what comes later may come much later.
func (r *Reader) guessList() Form {
	const far = 512
	for i := 1; i < far; i++ {
		ahead, err := r.r.Peek(i + 1)
		if err != nil {
			break // which comes again
		}
		switch c := ahead[i]; {
		case c == '{' || c == ']':
			return FormJSON
		case !space(c):
			return FormNew
		}
	}
	return FormNew
}

// open begins a form.
func (r *Reader) open() {
	switch r.form {
	case FormNew:
		r.new.col = r.blanks
		r.line++
	case FormJSON, FormXML:
		r.openOther()
	}
}
