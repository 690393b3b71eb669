// Package macro is the common part of the configuration and the submit description files
// of HTCondor: the shape of their lines, references to macros in a text, macro functions,
// and conditions.
//
// Lines splits a text into logical lines, and Place returns where each of their bytes
// stands in the file. Branches and Condition carry out if, elif, else and endif. Split
// finds the references in a value:
//
//	for _, p := range macro.Split("$Fn(input).$(Cluster:0).out") {
//		if p.Ref {
//			// p.Function is "Fn" and p.Body "input", then "" and "Cluster:0"
//		}
//	}
//
// Only the caller knows the value of a reference: which macros there are, the content of
// the environment, the number that chance gives. Replace replaces some references and
// leaves the others, as for a macro that refers to its earlier value. Arguments,
// CutDefault and CutFormat split the body of a reference; Filename, Substring, Choice,
// Format and RandomInteger do the work of the functions once their arguments are known.
//
// The language is that of HTCondor's manual, sections on configuration and on submit
// description files. The package is pure. Splitting takes time in proportion to a text's
// length, whatever its content.
package macro

import (
	"slices"
	"strings"

	"fairspool/lib/nearest"
)

// Part is a piece of a text: literal text, or a reference.
type Part struct {
	Text     string // as written; of a reference all of it, from $ to )
	Ref      bool
	Function string // of a reference: "" for $(...), "$" for $$(...), else "ENV", "Fpn", ...
	Body     string // of a reference: what stands between the parentheses
}

// Split splits a text at its references. Their bodies may hold references in turn, for
// which the caller splits the body. The texts of the parts, joined, are the text; no two
// literal parts follow each other.
//
// A reference is $(NAME), $(NAME:default), $ENV(NAME), $ENV(NAME:default), $$(...) or a
// function that IsFunction knows, with balanced parentheses. NAME satisfies IsName, or
// contains references. $$([...]) ends with "])", as parentheses in the strings of its
// expression need not be balanced. Text that only looks like a reference is literal, but
// may contain references. Two dollar signs in a row begin only $$(...).
func Split(text string) []Part {
	first := strings.IndexByte(text, '$')
	if first < 0 {
		if text == "" {
			return nil
		}
		return []Part{{Text: text}}
	}
	s := splitter{text: text, closing: closings(text)}
	return s.split(first)
}

// Replace returns the text with some of its references replaced; worth returns the
// replacement for each, and whether to replace it. Replaced text is not searched again. A
// reference that stays may have references within, for which worth is called in turn, so
// worth should look no further into a body than it must. The result is cut short, and ok
// false, once it is longer than most bytes.
func Replace(text string, most int, worth func(Part) (text string, ok bool)) (result string, ok bool) {
	if strings.IndexByte(text, '$') < 0 {
		return text, len(text) <= most
	}
	s := splitter{text: text, closing: closings(text)}
	var b strings.Builder
	for i := 0; i < len(text) && b.Len() <= most; {
		next := i + toDollar(text[i:])
		r, is := s.at(next)
		if is {
			if value, replaced := worth(r); replaced {
				b.WriteString(text[i:next])
				b.WriteString(value)
				i = next + len(r.Text)
				continue
			}
			next += 1 + len(r.Function)
		} else {
			next = s.after(next)
		}
		b.WriteString(text[i:next])
		i = next
	}
	return b.String(), b.Len() <= most
}

// splitter finds the references of one text.
type splitter struct {
	text    string
	closing []int // for the index of each "(" the index of its ")", or 0
	bracket int   // the first "])" behind the last place that one was asked for
}

// split returns the parts; the first dollar sign is at i.
func (s *splitter) split(i int) []Part {
	var parts []Part
	literal := 0
	for i < len(s.text) {
		r, ok := s.at(i)
		if !ok {
			i = s.after(i)
			continue
		}
		if literal < i {
			parts = append(parts, Part{Text: s.text[literal:i]})
		}
		parts = append(parts, r)
		i += len(r.Text)
		literal = i
		i += toDollar(s.text[i:])
	}
	if literal < len(s.text) {
		parts = append(parts, Part{Text: s.text[literal:]})
	}
	return parts
}

// after returns where the next reference may begin when none begins with the dollar
// sign at i.
func (s *splitter) after(i int) int {
	i = min(i+1, len(s.text))
	if i < len(s.text) && s.text[i] == '$' {
		i++
	}
	return i + toDollar(s.text[i:])
}

// toDollar returns the number of bytes before the first dollar sign.
func toDollar(text string) int {
	if i := strings.IndexByte(text, '$'); i >= 0 {
		return i
	}
	return len(text)
}

// at reads the reference that begins with the dollar sign at start.
func (s *splitter) at(start int) (r Part, ok bool) {
	open := start + 1
	if open >= len(s.text) {
		return r, false
	}
	if strings.HasPrefix(s.text[open:], "$(") {
		open++
	} else {
		open += functionName(s.text[open:])
	}
	if open >= len(s.text) || s.text[open] != '(' {
		return r, false
	}
	function := s.text[start+1 : open]
	end := s.closing[open]
	if function == "$" {
		end = s.doubleEnd(open)
	}
	if end == 0 {
		return r, false
	}
	switch function {
	case "$":
	case "", "ENV":
		if !s.named(open+1, end) {
			return r, false
		}
	default:
		if !IsFunction(function) {
			return r, false
		}
	}
	return Part{Text: s.text[start : end+1], Ref: true, Function: function, Body: s.text[open+1 : end]}, true
}

// doubleEnd returns the end of the $$( with its parenthesis at open, or 0.
func (s *splitter) doubleEnd(open int) int {
	end := s.closing[open]
	if !strings.HasPrefix(s.text[open+1:], "[") || end > 0 && s.text[end-1] == ']' {
		return end
	}
	if s.bracket < open {
		s.bracket = len(s.text)
		if i := strings.Index(s.text[open:], "])"); i >= 0 {
			s.bracket = open + i
		}
	}
	if s.bracket == len(s.text) {
		return 0
	}
	return s.bracket + 1
}

// named reports whether what stands from i to end is NAME or NAME:default. References in
// the name are passed over whole, so that text nested deeply is not read again for
// each level.
func (s *splitter) named(i, end int) bool {
	begin := i
	for i < end {
		c := s.text[i]
		switch {
		case isNameByte(c):
			i++
		case c == '$':
			open := i + 1 + functionName(s.text[i+1:end])
			if open >= end || s.text[open] != '(' || s.closing[open] == 0 {
				return false
			}
			i = s.closing[open] + 1
		default:
			return c == ':' && i > begin
		}
	}
	return i > begin
}

// functionName returns the length of a possible name of a function at the beginning of
// the text.
func functionName(text string) int {
	i := 0
	for i < len(text) && (text[i] == '_' || isLetter(text[i])) {
		i++
	}
	return i
}

// closings returns for the index of every opening parenthesis the index of the closing
// one, 0 if none closes it.
func closings(text string) []int {
	closing := make([]int, len(text))
	var open []int
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(':
			open = append(open, i)
		case ')':
			if n := len(open) - 1; n >= 0 {
				closing[open[n]] = i
				open = open[:n]
			}
		}
	}
	return closing
}

// IsName reports whether $(s) can refer to s: letters, digits, underscores,
// dots and slashes.
func IsName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isNameByte(c byte) bool {
	return isLetter(c) || c == '_' || c == '.' || c == '/' || '0' <= c && c <= '9'
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// functions are the names of macro functions, except those of $F.
var functions = []string{
	"ENV", "RANDOM_CHOICE", "RANDOM_INTEGER", "CHOICE", "SUBSTR", "INT", "REAL", "STRING", "EVAL", "DIRNAME", "BASENAME",
}

// IsFunction reports whether $name(...) is a macro function. Case counts, except for the
// letters of $F.
func IsFunction(name string) bool {
	if slices.Contains(functions, name) {
		return true
	}
	letters, ok := strings.CutPrefix(name, "F")
	return ok && strings.Trim(strings.ToLower(letters), "fpduwnxbqa") == ""
}

// mostWords bounds the words of one text that Mistaken checks.
const mostWords = 100

// Mistaken returns the first text in a literal of Split that is probably meant as a
// reference: $int(, with INT as the function meant, or a $(A or $INT(A that no
// parenthesis closes, with function empty. found is empty if there is none.
func Mistaken(literal string) (found, function string) {
	words := 0
	for i := toDollar(literal); i < len(literal) && words < mostWords; i += 1 + toDollar(literal[i+1:]) {
		rest := literal[i+1:]
		if strings.HasPrefix(rest, "$") {
			i++
			continue
		}
		n := functionName(rest)
		name := rest[:n]
		if !strings.HasPrefix(rest[n:], "(") {
			continue
		}
		if name == "" || IsFunction(name) {
			if body := rest[n+1:]; IsName(body) {
				return literal[i:], ""
			}
			continue
		}
		words++
		if meant, near := nearest.Name(name, functions); near && n > 2 && meant[0] == name[0]&^0x20 {
			return "$" + name + "(", meant
		}
	}
	return "", ""
}
