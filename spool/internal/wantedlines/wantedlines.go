// Package wantedlines tells lines of attributes that are asked for from others.
package wantedlines

import (
	"bytes"
	"slices"
	"strings"

	"fairspool/lib/classad"
)

// Names is the attributes that are asked for; nil stands for all.
type Names struct {
	Names []*classad.Name
	// By the length of a name: the names, and with which letters they begin and end.
	long        [longName][]string
	first, last [longName]uint32
	Begin       string // in lower case: what else is asked for begins so
}

// longName is how long a name is that is taken without a look.
const longName = 64

// New returns attributes by their names.
func New(attributes []string) *Names {
	w := new(Names)
	for _, name := range attributes {
		w.Names = append(w.Names, classad.NewName(name))
		if n := len(name); n > 0 && n < longName {
			w.long[n] = append(w.long[n], name)
			w.first[n] |= letter(name[0])
			w.last[n] |= letter(name[n-1])
		}
	}
	return w
}

// letter returns a bit for a letter in either case.
func letter(c byte) uint32 { return 1 << (c & 0x1f) }

// Take reports whether a line "Name = expression" has to be read: it names what is wanted,
// or is not plain enough to tell.
func (w *Names) Take(line []byte) bool {
	if w == nil {
		return true
	}
	n := bytes.IndexByte(line, ' ')
	if n <= 0 || n >= longName || line[0] == '"' {
		return true
	}
	if w.Begin != "" && n >= len(w.Begin) && letter(line[0]) == letter(w.Begin[0]) && strings.EqualFold(string(line[:len(w.Begin)]), w.Begin) {
		return true
	}
	if w.first[n]&letter(line[0]) == 0 || w.last[n]&letter(line[n-1]) == 0 {
		return false
	}
	for _, name := range w.long[n] {
		if string(line[:n]) == name || strings.EqualFold(string(line[:n]), name) {
			return true
		}
	}
	return false
}

// Has reports whether a name is among the attributes.
func (w *Names) Has(name string) bool {
	return slices.ContainsFunc(w.Names, func(n *classad.Name) bool { return strings.EqualFold(n.String(), name) })
}
