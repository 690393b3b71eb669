// Package extracttext reads and writes the lines of extracts of segments.
package extracttext

import (
	"bytes"
	"strconv"

	"fairspool/spool/internal/quotedtext"
)

// Lines is what is still to be read of an extract; Bad says that it is not right.
type Lines struct {
	Rest []byte
	Bad  bool
}

// Number reads a number and the blank or newline behind it.
func (r *Lines) Number() int {
	n, i := 0, 0
	minus := len(r.Rest) > 0 && r.Rest[0] == '-'
	if minus {
		i = 1
	}
	start := i
	for i < len(r.Rest) && r.Rest[i] >= '0' && r.Rest[i] <= '9' && i < 20 {
		n = n*10 + int(r.Rest[i]-'0')
		i++
	}
	if i == start || i == len(r.Rest) || r.Rest[i] != ' ' && r.Rest[i] != '\n' {
		r.Bad, r.Rest = true, nil
		return 0
	}
	r.Bad = r.Bad || n < 0
	r.Rest = r.Rest[i+1:]
	if minus {
		return -n
	}
	return n
}

// Name reads a quoted text and the blank behind it.
func (r *Lines) Name() (name []byte) {
	line := r.Rest[:bytes.IndexByte(r.Rest, '\n')+1]
	if end := bytes.IndexByte(line[min(1, len(line)):], '"') + 1; end > 0 && line[0] == '"' && quotedtext.Plainly(line[1:end]) {
		name, r.Rest = line[1:end], r.Rest[end+1:]
	} else {
		text, rest, err := quotedtext.First(string(line))
		r.Bad = r.Bad || err != nil
		name, r.Rest = []byte(text), r.Rest[len(line)-len(rest):]
	}
	if r.Bad = r.Bad || len(r.Rest) == 0 || r.Rest[0] != ' '; !r.Bad {
		r.Rest = r.Rest[1:]
	}
	return name
}

// Ad reads the lines of an ad.
func (r *Lines) Ad() []byte {
	n := r.Number()
	if n < 0 || n > len(r.Rest) {
		r.Bad = true
		return nil
	}
	lines := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return lines
}

// Ads are the lines of ads of one letter in an extract, each once.
type Ads struct {
	letter byte
	Text   []byte
	known  map[string]int
}

// Place returns the place of an ad.
func (a *Ads) Place(lines []byte) int64 {
	i, known := a.known[string(lines)]
	if !known {
		i = len(a.known)
		a.known[string(lines)] = i
		a.Text = append(append(strconv.AppendInt(append(a.Text, a.letter, ' '), int64(len(lines)), 10), '\n'), lines...)
	}
	return int64(i)
}

// NewAds returns those of a letter.
func NewAds(letter byte) *Ads { return &Ads{letter: letter, known: map[string]int{}} }

// AttributeOf returns the name in a line "Name = expression", or what it begins with.
func AttributeOf(line []byte) []byte {
	name, _, _ := bytes.Cut(line, []byte(" "))
	return name
}

// WithNumbers appends numbers, each behind a blank.
func WithNumbers(b []byte, list ...int64) []byte {
	for _, n := range list {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	return b
}
