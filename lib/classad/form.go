package classad

// Form is a way to write streams of ads.
type Form uint8

// The forms. FormAuto is for reading only: the first byte tells. FormXML is
// for reading only as well.
const (
	FormAuto Form = iota
	FormLong      // "Name = expression" lines, ads between blank lines
	FormNew       // [ Name = expression; ... ]
	FormJSON      // objects, one by one or in an array
	FormXML       // <c> elements
)
