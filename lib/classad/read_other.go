package classad

// stream is a form that is read by itself.
type stream interface {
	next() (*Ad, error)
	start() int
	share(i *Interner)
}

// openOther begins JSON or XML. What was read already counts, so that lines and
// columns are those of the file.
func (r *Reader) openOther() {
	if r.form == FormXML {
		s := newXMLStream(r.r, r.file)
		s.lines, s.blanks = r.line, r.blanks
		r.other = s
	} else {
		s := newJSONStream(r.r, r.file)
		s.line, s.lineAt = r.line+1, -int64(r.blanks)
		r.other = s
	}
	r.other.share(r.intern)
}
