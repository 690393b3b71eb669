package classad

import (
	"io"
	"strings"
)

// stream is a form that is read by itself.
type stream interface {
	next() (*Ad, error)
	start() int
}

// openOther begins JSON or XML. What was read already is handed on, so that
// lines and columns are those of the file.
func (r *Reader) openOther(blanks []byte) error {
	in := io.MultiReader(strings.NewReader(strings.Repeat("\n", r.line)+string(blanks)), r.r)
	if r.form == FormXML {
		s := newXMLStream(in, r.file)
		s.compile = r.intern.Expr
		r.other = s
	} else {
		s := newJSONStream(in, r.file)
		s.compile = r.intern.Expr
		r.other = s
	}
	return nil
}
