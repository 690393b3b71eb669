package spool

import (
	"strconv"
	"strings"
)

// plain is one attribute of a row as the spool writes almost all of them: a
// text without escapes, or a decimal number.
type plain struct {
	name, text string
	kind       byte // one of those below
	used       bool
}

// The kinds of plain values.
const (
	plainText    = '"'
	plainInteger = 'i'
	plainReal    = 'r'
)

// plainRoom is for how many attributes a reader of rows makes room: more need more
// of it, and few rows have as many.
const plainRoom = 20

// readPlain reads a row that consists of plain attributes, at a tenth of the cost of
// reading it as the ad that it is. Of anything else it says so, and the row is to
// be read as an ad.
func (r *row) readPlain(text string) bool {
	rest, ok := strings.CutPrefix(text, "[ ")
	for ok {
		var p plain
		if p.name, rest, ok = strings.Cut(rest, " = "); !ok || !plainName(p.name) {
			return false
		}
		if rest, ok = p.value(rest); !ok {
			return false
		}
		r.plain = append(r.plain, p)
		if rest == " ]" {
			return true
		}
		rest, ok = strings.CutPrefix(rest, "; ")
	}
	return false
}

func plainName(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return s != ""
}

// value reads a value and returns what follows it.
func (p *plain) value(s string) (rest string, ok bool) {
	if s == "" {
		return "", false
	}
	if s[0] != plainText {
		end := strings.IndexAny(s, "; ")
		if end < 0 {
			return "", false
		}
		p.text = s[:end]
		p.kind = numeral(p.text)
		return s[end:], p.kind != 0
	}
	p.kind = plainText
	end := strings.IndexByte(s[1:], '"') + 1
	if end == 0 {
		return "", false
	}
	p.text = s[1:end]
	for i := range len(p.text) {
		if c := p.text[i]; c < ' ' || c > '~' || c == '\\' {
			return "", false
		}
	}
	return s[end+1:], true
}

// numeral returns the kind of a number of at most 18 digits, 0 for what is none.
func numeral(s string) byte {
	kind, digits := byte(plainInteger), 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '-' && i == 0:
		case c == '.' && kind == plainInteger && digits > 0:
			kind = plainReal
		default:
			return 0
		}
	}
	if digits == 0 || digits > 18 || s[len(s)-1] == '.' {
		return 0
	}
	// A number in ads does not begin with a needless zero.
	if s = strings.TrimPrefix(s, "-"); len(s) > 1 && s[0] == '0' && s[1] != '.' {
		return 0
	}
	return kind
}

// find returns the attribute with a name, and notes that it was asked for.
func (r *row) find(name string) *plain {
	for i := range r.plain {
		if p := &r.plain[i]; p.name == name {
			p.used = true
			return p
		}
	}
	return nil
}

// odd tells whether a plain row has to be read as an ad after all: something was not
// of its kind, or some name was not asked for, since it is unknown, stands there
// twice, or is spelled otherwise.
func (r *row) odd() bool {
	for _, p := range r.plain {
		if !p.used {
			return true
		}
	}
	return r.err != nil
}

func (p *plain) integer() (int64, bool) {
	if p.kind != plainInteger {
		return 0, false
	}
	n, err := strconv.ParseInt(p.text, 10, 64)
	return n, err == nil
}

func (p *plain) number() (float64, bool) {
	if p.kind == plainText {
		return 0, false
	}
	x, err := strconv.ParseFloat(p.text, 64)
	return x, err == nil
}
