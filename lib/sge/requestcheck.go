package sge

import (
	"math"

	"fairspool/lib/classad"
)

// wants is what a request for a complex of each type with amounts has to be, as the ad of a
// job has it.
var wants = [...]string{
	Int:    "a whole number: its type is INT",
	Double: "a number: its type is DOUBLE",
	Time:   `seconds, or h:m:s in double quotes: its type is TIME`,
	Memory: `a number of bytes, or one with k, K, m, M, g, G, t or T behind it in double quotes: its type is MEMORY`,
	Bool:   "true or false: its type is BOOL",
}

// Wants says what a request for a complex has to be (complex(5)), for a value that is none;
// empty for one that is. Grid Engine refuses jobs with such requests, which would count for
// nothing here. Nothing is wanted of requests for complexes without an urgency, or for one
// that is not there.
func (c *Config) Wants(complex int, attribute string, v classad.Value) string {
	if complex < 0 || complex >= len(c.Complexes) || !c.Complexes[complex].counts() {
		return ""
	}
	x := &c.Complexes[complex]
	n, isNumber := v.Number()
	_, ok := c.requestOf(complex, v, attribute)
	switch {
	case x.Type >= String && !ok:
		return "a text in double quotes"
	case !ok, isNumber && (math.IsInf(n, 0) || x.Type == Int && n != math.Trunc(n)):
		return wants[x.Type]
	}
	return ""
}
