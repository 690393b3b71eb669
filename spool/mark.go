package spool

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mark is a text that is kept under a name.
type mark struct{ Name, Text string }

// Mark returns the text that is kept under a name, empty if there is none.
func (v *View) Mark(name string) string {
	m, _, err := v.state().marks.get(name)
	must(err)
	return m.Text
}

// Marks returns the names that begin with a prefix, sorted.
func (v *View) Marks(prefix string) (names []string) {
	all, err := v.state().marks.all()
	must(err)
	for name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// PutMark keeps a text, which may be any, under a name; an empty one removes
// what was kept.
func (tx *Tx) PutMark(name, text string) {
	tx.put(record{Kind: 'M', Name: name, Text: text})
}

// setMark puts a mark into the table, or takes it away.
func (s *state) setMark(m mark) {
	if m.Text == "" {
		s.marks.drop(m.Name)
		return
	}
	s.marks.put(m.Name, m)
}

// noteMark takes the line of a mark.
func (s *state) noteMark(c *chunk, line []byte) error {
	m, err := markOf(line)
	if err == nil && m.Text == "" {
		s.marks.drop(m.Name)
	} else if err == nil {
		s.marks.note(m.Name, chunk{text: line, seq: c.seq, file: c.file, line: c.line})
	}
	return err
}

func markKey(line []byte) (string, error) {
	m, err := parseMark(line, 0)
	return m.Name, err
}

// parseMark reads a row of the table, in which no mark is empty.
func parseMark(line []byte, _ uint64) (mark, error) {
	m, err := markOf(line)
	if err == nil && m.Text == "" {
		err = fmt.Errorf("mark %q: without a text", m.Name)
	}
	return m, err
}

// markOf reads a line M "name" "text".
func markOf(line []byte) (m mark, err error) {
	rest, ok := bytes.CutPrefix(line, []byte("M "))
	if !ok {
		return m, fmt.Errorf("%.80q: not a mark", line)
	}
	m.Name, m.Text, err = twoTexts(rest)
	return m, err
}

// appendTwo writes two quoted texts.
func appendTwo(b []byte, first, second string) []byte {
	return strconv.AppendQuote(append(strconv.AppendQuote(b, first), ' '), second)
}

// twoTexts is the inverse of appendTwo.
func twoTexts(b []byte) (first, second string, err error) {
	texts, err := quoted(string(b))
	if err == nil && len(texts) != 2 {
		err = errors.New("not two texts")
	}
	if err != nil {
		return "", "", err
	}
	return texts[0], texts[1], nil
}
