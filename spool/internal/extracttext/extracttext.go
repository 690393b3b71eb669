// Package extracttext reads and writes the lines of extracts of segments.
//
// An extract is what views of a part read of one segment, in the file of the same name in the folder extracts. Nothing depends on it: one
// that is missing, damaged, or made for other attributes or another segment is passed over. That of a segment of jobs:
//
//	extract 1 12.7 4194512 9ab3c1f0 "Owner\nJobStatus" "request"
//	K 16
//	Owner = "alice"
//	R 14
//	JobStatus = 1
//	J 12 0 1790000000 1790000000 0 4 17 0
//	j 13 0 0 0 18 0
//	P 14
//	E 1f3c0a77
//
// The first line names the segment, its length and checksum, and the attributes. K and R are ads of clusters and of runs, with how many
// bytes their lines have. J is a cluster: its ad, by its place among those of clusters, QDate and EnteredCurrentStatus, and for each run
// the first and the last proc, the transaction, and the ad. One that has no such moments is j, and P is one that is to be read in the
// segment. The last line has the CRC-32C of all before it. In the extract of a segment of slots
//
//	O 15
//	LoadAvg
//	SlotID
//	L 25
//	Arch = "X86_64"
//	Cpus = 1
//	K 2 0 1
//	S "slot1@node" 0 17 27
//	LoadAvg = 0.125
//	SlotID = 1
//
// O has the attributes of which slots have lines of their own, L the other lines, each once. K is what slots share:
// how many lines, and their places. S is a slot: the place among K, the transaction, the bytes of its own lines.
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
