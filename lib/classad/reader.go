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
// Equal names and expressions of the ads share memory, see Intern.
type Reader struct {
	r      *bufio.Reader
	file   string
	form   Form
	line   int // of the line read last
	start  int // of the ad returned last
	intern *Interner
	texts  texts
	begun  bool

	indent []byte // blanks of the first line, read already
	long   longForm
	new    newForm
	other  stream // of JSON and XML
}

// NewReader returns a Reader of r. The file's name is for messages only.
func NewReader(r io.Reader, file string) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), file: file}
}

// Intern makes the ads to come share equal expressions and names with those of
// other Readers that were given the same Interner.
func (r *Reader) Intern(i *Interner) { r.intern = i }

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
// ad that is not one, and errors of the underlying reader as they are.
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
	if mark, _ := r.r.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		if _, err := r.r.Discard(len(byteOrderMark)); err != nil {
			return err
		}
	}
	blanks := []byte(nil)
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return err
		}
		if c != '\n' && space(c) {
			blanks = append(blanks, c)
			continue
		}
		if c == '\n' {
			r.line++
			blanks = nil
			continue
		}
		if err := r.r.UnreadByte(); err != nil {
			return err
		}
		if r.form == FormAuto {
			r.form = r.guess(c)
		}
		r.begun = true
		return r.open(blanks)
	}
}

// guess tells the form by its first byte.
func (r *Reader) guess(first byte) Form {
	switch first {
	case '{':
		return FormJSON
	case '<':
		return FormXML
	case '[':
		const far = 512
		ahead, _ := r.r.Peek(far)
		for _, c := range ahead[1:] {
			if !space(c) {
				if c == '{' || c == ']' {
					return FormJSON
				}
				break
			}
		}
		return FormNew
	}
	return FormLong
}

// open begins a form, with the blanks read before its first byte.
func (r *Reader) open(blanks []byte) error {
	switch r.form {
	case FormNew:
		r.new.rest = string(blanks)
		r.line++
	case FormJSON, FormXML:
		return r.openOther(blanks)
	default:
		r.indent = blanks
	}
	return nil
}
