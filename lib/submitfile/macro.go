package submitfile

import (
	"slices"
	"strconv"
	"strings"
)

// Bounds on the work for one value: macros that refer to macros twice each
// grow without end otherwise.
const (
	maxText       = 1 << 20 // bytes
	maxRead       = 4 << 20 // bytes of all texts that are expanded for one value
	maxExpansions = 10000
	maxDepth      = 100 // of macros in macros
	maxName       = 256 // bytes of a name that is put together from macros
)

// variable is a name's value in force.
type variable struct {
	name string // as written
	text string
	line int
}

// scope is what macros are expanded in: the values in force at a queue
// statement, and the job.
type scope struct {
	*Description
	vars    map[string]variable // by name in lower case
	cluster int
	proc    int

	touched bool            // something asked for $(Process) since it was last cleared
	warn    func(w Warning) // nil when nobody listens
	open    []string        // names being expanded
	spent   int             // expansions since the value was begun
	reading int             // bytes expanded since the value was begun
	depth   int             // of the expansion under way
}

// macro functions of the language that this version refuses, besides $F....
var macroFunctions = []string{
	"RANDOM_CHOICE", "RANDOM_INTEGER", "CHOICE", "SUBSTR", "INT", "REAL", "STRING",
	"EVAL", "DIRNAME", "BASENAME", "QUOTE", "UNQUOTE", "JOIN", "SORT",
}

// macros that HTCondor sets and this version does not. They are refused
// unless the description defines them itself.
var predefinedLater = []string{
	"jobid", "step", "item", "itemindex", "row", "node", "arch", "opsys", "opsysver",
	"opsysmajorver", "opsysandver", "spool", "islinux", "iswindows", "submit_file",
	"submit_time", "year", "month", "day",
}

// value expands text, which stands in the given line.
func (s *scope) value(text string, line int) (string, error) {
	s.spent, s.reading, s.depth = 0, 0, 0
	s.open = s.open[:0]
	return s.expand(text, line)
}

func (s *scope) expand(text string, line int) (string, error) {
	if s.reading += len(text); s.reading > maxRead {
		return "", s.errorf(line, "more than %d bytes of macros in one value", maxRead)
	}
	if strings.IndexByte(text, '$') < 0 {
		return text, nil
	}
	if s.depth++; s.depth > maxDepth {
		return "", s.errorf(line, "macros nested more than %d deep", maxDepth)
	}
	defer func() { s.depth-- }()
	var b strings.Builder
	closing := closings(text)
	for i := 0; i < len(text); {
		next := strings.IndexByte(text[i:], '$')
		if next < 0 {
			b.WriteString(text[i:])
			break
		}
		b.WriteString(text[i : i+next])
		i += next
		r, ok := parseReference(text, i, closing)
		if !ok {
			b.WriteByte('$')
			i++
			continue
		}
		if s.spent++; s.spent > maxExpansions {
			return "", s.errorf(line, "more than %d macros in one value", maxExpansions)
		}
		v, err := s.reference(r, line)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		if b.Len() > maxText {
			return "", s.errorf(line, "a value longer than %d bytes", maxText)
		}
		i += r.length
	}
	return b.String(), nil
}

// reference is $(name), $(name:default), $$(...) or $FUNCTION(...).
type reference struct {
	length      int    // in bytes of text
	function    string // empty, "$", "ENV" or another
	name        string // as written; with references in it if nested
	nested      bool
	fallback    string // after the colon
	hasFallback bool
}

// parseReference reads the reference that begins with the "$" at start. What
// looks like none is text as it stands.
func parseReference(text string, start int, closing map[int]int) (reference, bool) {
	i := start + 1
	if strings.HasPrefix(text[start:], "$$(") {
		i++
	}
	for i < len(text) && isFunctionByte(text[i]) {
		i++
	}
	end, closed := closing[i]
	if !closed {
		return reference{}, false
	}
	r := reference{length: end + 1 - start, function: text[start+1 : i]}
	switch r.function {
	case "", "ENV":
		stop, nested := nameEnd(text, i+1, closing)
		r.name, r.nested = text[i+1:stop], nested
		r.fallback, r.hasFallback = strings.CutPrefix(text[stop:end], ":")
		return r, (nested || isMacroName(r.name)) && (r.hasFallback || stop == end)
	case "$":
		r.name = text[i+1 : end]
		return r, true
	}
	return r, isMacroFunction(r.function)
}

func isFunctionByte(c byte) bool { return isNameByte(c) && c != '.' }

// nameEnd returns where a name that begins at i ends. References may stand
// in it, as in $(seed$(Process)); these are passed over whole, so that text
// nested deeply is not read again for each level.
func nameEnd(text string, i int, closing map[int]int) (end int, nested bool) {
	for i < len(text) {
		if isNameByte(text[i]) {
			i++
			continue
		}
		if text[i] != '$' {
			break
		}
		open := i + 1
		for open < len(text) && isFunctionByte(text[open]) {
			open++
		}
		closed, ok := closing[open]
		if !ok {
			break
		}
		i, nested = closed+1, true
	}
	return i, nested
}

func isMacroFunction(name string) bool {
	return slices.Contains(macroFunctions, name) ||
		name[0] == 'F' && strings.Trim(name[1:], "fpduwnxbqa") == ""
}

// closings maps the index of every opening parenthesis to that of the one
// that closes it, if there is one.
func closings(text string) map[int]int {
	var open []int
	closing := map[int]int{}
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

func (s *scope) reference(r reference, line int) (string, error) {
	if r.nested {
		name, err := s.expand(r.name, line)
		if err != nil {
			return "", err
		}
		if !isMacroName(name) {
			return s.noName(r, name, line)
		}
		if len(name) > maxName {
			return "", s.errorf(line, "$(%s): a name longer than %d bytes", shorten(name), maxName)
		}
		r.name = name
	}
	switch r.function {
	case "":
		return s.macro(r, line)
	case "ENV":
		if s.options.LookupEnv != nil {
			if v, ok := s.options.LookupEnv(r.name); ok {
				return v, nil
			}
		}
		return s.missing(r, line, "$ENV("+shorten(r.name)+"): not set in the environment, taken as empty")
	case "$":
		return "", s.errorf(line, "$$(%s): values of the matched slot are %s", shorten(r.name), later)
	}
	return "", s.errorf(line, "$%s(): %s", r.function, later)
}

func (s *scope) macro(r reference, line int) (string, error) {
	key := strings.ToLower(r.name)
	switch key {
	case "cluster", "clusterid":
		return strconv.Itoa(s.cluster), nil
	case "process", "procid":
		s.touched = true
		return strconv.Itoa(s.proc), nil
	case "dollar":
		return "$", nil
	}
	v, ok := s.vars[key]
	if !ok {
		if !r.hasFallback && slices.Contains(predefinedLater, key) {
			return "", s.errorf(line, "$(%s): %s", r.name, later)
		}
		return s.missing(r, line, "$("+shorten(r.name)+"): not defined, taken as empty")
	}
	if slices.Contains(s.open, key) {
		return "", s.errorf(v.line, "%s: refers to itself through $(%s)", v.name, r.name)
	}
	s.open = append(s.open, key)
	text, err := s.expand(v.text, v.line)
	s.open = s.open[:len(s.open)-1]
	return text, err
}

// noName returns a reference whose name, put together, is none, as the text
// that it then is.
func (s *scope) noName(r reference, name string, line int) (string, error) {
	s.caution(line, "$"+r.function+"("+shorten(name)+"): not a name, taken as it stands")
	if r.hasFallback {
		fallback, err := s.expand(r.fallback, line)
		if err != nil {
			return "", err
		}
		name += ":" + fallback
	}
	return "$" + r.function + "(" + name + ")", nil
}

func (s *scope) missing(r reference, line int, warning string) (string, error) {
	if r.hasFallback {
		return s.expand(r.fallback, line)
	}
	s.caution(line, warning)
	return "", nil
}

func (s *scope) caution(line int, warning string) {
	if s.warn != nil {
		s.warn(Warning{s.file, line, warning})
	}
}

// foldSelf puts the earlier value of a name in place of its references to
// itself, as the language wants it: A = $(A) more.
func foldSelf(text, key string, current map[string]string) string {
	if strings.IndexByte(text, '$') < 0 {
		return text
	}
	var b strings.Builder
	closing := closings(text)
	for i := 0; i < len(text); {
		r, ok := reference{}, false
		if text[i] == '$' {
			r, ok = parseReference(text, i, closing)
		}
		if !ok || r.function != "" || r.nested || strings.ToLower(r.name) != key {
			b.WriteByte(text[i])
			i++
			continue
		}
		earlier, defined := current[key]
		if !defined {
			earlier = r.fallback
		}
		b.WriteString(earlier)
		i += r.length
		if b.Len() > maxText {
			break // too long already: the caller refuses it
		}
	}
	return b.String()
}
