package submitfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"fairspool/lib/jobargs"
	"fairspool/lib/macro"
)

// reader reads files into a Description.
type reader struct {
	*Description
	scope
	warnings        []Warning
	depth, included int
	stdin           func() (string, error) // nil once it is read
	jobs            int
	folded          int // bytes of values that refer to themselves
	inside          int // bytes of the files and commands that were included
}

func (r *reader) note(w Warning) { r.warnings = append(r.warnings, w) }

// file reads a text with the conditions in it.
func (r *reader) file(text, name string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return &Error{Place{File: name, Line: 1 + strings.Count(text[:i], "\n")}, "a NUL byte: not a text file", nil}
	}
	f := &source{reader: r, name: name, lines: macro.NewLines(text)}
	for {
		l, ok := f.next()
		if !ok {
			break
		}
		if err := f.statement(l); err != nil {
			return err
		}
	}
	if line, open := f.open.Open(); open {
		source := f.lines.Source(line)
		indent := len(source) - len(strings.TrimLeft(source, " \t"))
		return &Error{Place{name, line, indent + 1, source}, "if: no endif closes it", nil}
	}
	return nil
}

// source is a file that is being read.
type source struct {
	*reader
	name  string
	lines *macro.Lines
	open  macro.Branches
}

// logical is a line with those that continue it.
type logical struct {
	text string
	origin
}

func (f *source) next() (logical, bool) {
	text, pieces, ok := f.lines.Next()
	if !ok {
		return logical{}, false
	}
	return logical{text, origin{file: f.name, lines: f.lines, text: text, pieces: pieces}}, true
}

// cut returns the line without its first n bytes and the blanks that follow.
func (l logical) cut(n int) logical {
	rest := strings.TrimLeft(l.text[n:], " \t")
	return logical{rest, l.behind(len(l.text) - len(rest))}
}

// statement carries out one line.
func (f *source) statement(l logical) error {
	word := firstWord(l.text)
	rest := l.cut(len(word))
	keyword := strings.ToLower(strings.TrimPrefix(word, "@"))
	if strings.HasPrefix(rest.text, "@=") {
		return f.manyLines(l, word, rest.cut(2))
	}
	assigned := strings.HasPrefix(rest.text, "=")
	if !assigned {
		switch keyword {
		case "if", "elif", "else", "endif":
			return f.branch(l, keyword, rest)
		}
	}
	switch {
	case !f.open.Taken():
		return f.passOver(l, keyword, rest, assigned)
	case assigned:
		return f.assign(l.origin, word, rest.cut(1))
	}
	switch keyword {
	case "queue":
		return f.queueLine(l, rest)
	case "include":
		return f.include(l, rest)
	case "use":
		return l.errorf("use: templates belong to HTCondor's configuration: write what it stands for")
	case "error", "warning":
		if strings.HasPrefix(rest.text, ":") {
			return f.say(keyword, rest.cut(1))
		}
	}
	return l.errorf("%q: want NAME = value, or queue%s", Shorten(l.text), meant(l.text))
}

// meant returns the probable intention of a line that is no statement.
func meant(text string) string {
	name, _, ok := strings.Cut(text, "=")
	plain, more := strings.CutSuffix(strings.TrimSpace(name), "+")
	switch {
	case ok && more && macro.IsName(strings.TrimSpace(plain)):
		plain = strings.TrimSpace(plain)
		return fmt.Sprintf("; there is no +=: want %s = $(%s) ...", plain, plain)
	case ok && strings.ContainsAny(plain, " \t"):
		return "; a name has no blanks in it"
	case ok:
		return "; a name has letters, digits, underscores, dots and slashes"
	}
	if word, rest, two := strings.Cut(text, ":"); two && macro.IsName(strings.TrimSpace(word)) && strings.TrimSpace(rest) != "" {
		return fmt.Sprintf("; did you mean %s = VALUE?", strings.TrimSpace(word))
	}
	return ""
}

// passOver leaves out a line in a branch that is not taken, with the lines
// that belong to it.
func (f *source) passOver(l logical, keyword string, rest logical, assigned bool) error {
	if keyword == "queue" && !assigned && opensItems(rest.text) {
		_, _, err := f.itemLines(l)
		return err
	}
	return nil
}

func (f *source) branch(l logical, keyword string, rest logical) error {
	holds := func() (bool, error) { return f.holds(rest) }
	var err error
	switch keyword {
	case "if":
		line, _ := macro.Place(l.text, l.pieces, 0)
		err = f.open.If(line, holds)
	case "elif":
		err = f.open.Elif(holds)
	case "else":
		err = f.open.Else()
	default:
		err = f.open.Endif()
	}
	return l.wrap(err)
}

// wrap gives an error the place, unless it has one.
func (o origin) wrap(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok {
		return e
	}
	return o.errorf("%w", err)
}

// holds reports whether a condition is true.
func (f *source) holds(l logical) (bool, error) {
	f.refer(l.text)
	silent := f.scope
	silent.warn = nil // undefined names are false
	text, err := silent.value(l.text, l.origin)
	if err != nil {
		return false, err
	}
	c, err := macro.ParseCondition(text)
	if err != nil {
		return false, l.errorf("if %s: %w", Shorten(l.text), err)
	}
	return c.Holds(f.defined, version), nil
}

// version is the release of HTCondor that has this language.
var version = [3]int{25, 14, 0}

// defined reports whether a name has a value that is not empty. Item has one only for the
// jobs of a queue line, and Node only in the parallel universe.
func (s *scope) defined(name string) bool {
	key := strings.ToLower(name)
	s.refer("$(" + name + ")")
	if v, ok := s.vars[key]; ok {
		return strings.TrimSpace(v.text) != ""
	}
	_, ok := s.options.Predefined[strings.ToUpper(name)]
	return ok || builtin(key) && key != "item" && key != "node"
}

// say carries out `error :` and `warning :`.
func (f *source) say(keyword string, l logical) error {
	text, err := f.value(l.text, l.origin)
	if err != nil {
		return err
	}
	if keyword == "error" {
		return l.errorf("the description says: %s", Shorten(text))
	}
	f.note(Warning{Place: l.place(0), Msg: "the description says: " + Shorten(text)})
	return nil
}

// manyLines reads NAME @=TAG, and the lines up to @TAG.
func (f *source) manyLines(l logical, name string, tag logical) error {
	value, pieces, closed := f.lines.Until(strings.TrimSpace(tag.text))
	switch {
	case tag.text == "":
		return tag.errorf("%s @=: want a tag, and a line @TAG that ends the value", Shorten(name))
	case !closed:
		return l.errorf("%s: no line @%s ends the value", Shorten(name), Shorten(tag.text))
	case !f.open.Taken():
		return nil
	}
	at := origin{file: f.name, lines: f.lines, text: value, pieces: pieces}
	text := strings.TrimLeft(value, blanks)
	at.offset = len(value) - len(text)
	return f.set(Assignment{Name: plainName(name), Text: strings.TrimRight(text, blanks), at: at}, l.origin)
}

// assign gives a name a value from now on.
func (f *source) assign(at origin, name string, value logical) error {
	return f.set(Assignment{Name: plainName(name), Text: value.text, at: value.origin}, at)
}

// attributePrefix begins the names of attributes, which may be written +Name.
const attributePrefix = "MY."

// plainName returns +Name as MY.Name.
func plainName(name string) string {
	if attr, ok := strings.CutPrefix(name, "+"); ok {
		return attributePrefix + attr
	}
	return name
}

func (r *reader) set(a Assignment, name origin) error {
	if !macro.IsName(a.Name) || a.Name == attributePrefix {
		return name.errorf("%q: not a name", Shorten(a.Name))
	}
	key := strings.ToLower(a.Name)
	text, folded, err := r.withItself(a, key)
	if err != nil {
		if !isPlaced(err) {
			err = fmt.Errorf("%s: %w", a.Name, err)
		}
		return name.wrap(err)
	}
	a.Text, a.folded = text, a.folded || folded
	r.statements = append(r.statements, statement{Assignment: a})
	r.vars[key] = &variable{name: a.Name, text: a.Text, at: &a.at, exact: !a.folded}
	return nil
}

// firstWord cuts a name off the front of a line. It may begin with "+" or "@",
// and references may stand in it.
func firstWord(text string) string {
	i := 0
	for i < len(text) && (isNameByte(text[i]) || text[i] == '/' || i == 0 && (text[i] == '+' || text[i] == '@')) {
		i++
	}
	return text[:i]
}

func isNameByte(c byte) bool {
	return c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Bounds on includes: files may include each other.
const (
	maxIncludeDepth = 20
	maxIncludes     = 1000
	maxIncluded     = 64 << 20 // bytes in all
)

// include carries out `include : file`, `include ifexist : file`,
// `include : command |` and `include command [into FILE] : command`.
func (f *source) include(l, rest logical) error {
	how, what, ok := strings.Cut(rest.text, ":")
	if !ok {
		return rest.errorf("include: want include : FILE")
	}
	words := strings.Fields(how)
	value := rest.cut(len(how) + 1)
	f.refer(value.text)
	text, err := f.value(value.text, value.origin)
	if err != nil {
		return err
	}
	command := strings.HasSuffix(text, "|")
	text = strings.TrimSpace(strings.TrimSuffix(text, "|"))
	into, ifExists := "", false
	for i := 0; i < len(words); i++ {
		switch strings.ToLower(words[i]) {
		case "command":
			command = true
		case "ifexist":
			ifExists = true
		case "into":
			if i++; i == len(words) {
				return rest.errorf("include into: want a file before the colon")
			}
			if into, err = f.value(words[i], rest.origin); err != nil {
				return err
			}
			f.refer(words[i])
		default:
			return rest.errorf("include %s: want ifexist, command, or command into FILE before the colon", Shorten(words[i]))
		}
	}
	switch {
	case into != "" && !command:
		return rest.errorf("include into %s: only the output of a command goes there", Shorten(into))
	case text == "" && ifExists:
		return nil
	case text == "":
		return value.errorf("include : %s: empty", Shorten(strings.TrimSpace(what)))
	}
	switch f.included++; {
	case f.depth >= maxIncludeDepth:
		return l.errorf("include : %s: more than %d files in each other", Shorten(text), maxIncludeDepth)
	case f.included > maxIncludes:
		return l.errorf("include : %s: more than %d files in all", Shorten(text), maxIncludes)
	}
	f.depth++
	defer func() { f.depth-- }()
	if command {
		return f.includeCommand(value, text, into)
	}
	return f.includeFile(value, text, ifExists)
}

func (f *source) includeFile(at logical, name string, ifExists bool) error {
	text, err := f.read(name)
	switch {
	case ifExists && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return at.errorf("include : %s: %w", Shorten(name), err)
	}
	return f.within(at, text, name)
}

// within reads a text that was included.
func (f *source) within(at logical, text, name string) error {
	if f.inside += len(text); f.inside > maxIncluded {
		return at.errorf("include : %s: more than %d bytes of included text in all", Shorten(name), maxIncluded)
	}
	return f.file(text, name)
}

// includeCommand reads the output of a command. If the file into exists it reads that
// instead; else it creates the file.
func (f *source) includeCommand(at logical, command, into string) error {
	if into != "" {
		text, err := f.read(into)
		if err == nil {
			return f.within(at, text, into)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return at.errorf("include command into %s: %w", Shorten(into), err)
		}
	}
	text, err := f.run(command)
	if err != nil {
		return at.errorf("include command : %s: %w", Shorten(command), err)
	}
	if into != "" && f.options.Write != nil {
		if err := f.options.Write(f.path(into), text); err != nil {
			return at.errorf("include command into %s: %w", Shorten(into), err)
		}
	}
	return f.within(at, text, Shorten(command))
}

// errOutside says that Options lack a function for the description.
var errOutside = errors.New("not possible here")

func (r *reader) read(name string) (string, error) {
	if r.options.Read == nil {
		return "", errOutside
	}
	return r.options.Read(r.path(name))
}

func (r *reader) run(command string) (string, error) {
	words, err := commandWords(command)
	switch {
	case err != nil:
		return "", err
	case r.options.Run == nil:
		return "", errOutside
	}
	return r.options.Run(words)
}

// commandWords takes a command apart as arguments are taken apart: in double
// quotes by the new syntax, else at blanks. There is no shell.
func commandWords(command string) ([]string, error) {
	raw, isNew, err := jobargs.Unquote(command)
	if err != nil {
		return nil, err
	}
	words := jobargs.ParseV1(raw)
	if isNew {
		if words, err = jobargs.ParseV2(raw); err != nil {
			return nil, err
		}
	}
	if len(words) == 0 {
		return nil, errors.New("no command")
	}
	return words, nil
}

// path returns a name as an absolute path.
func (d *Description) path(name string) string {
	if path.IsAbs(name) || d.options.Dir == "" {
		return name
	}
	return strings.TrimSuffix(d.options.Dir, "/") + "/" + name
}

// written is where the items of a queue line stand, one a line: in a file, or in
// the description.
type written struct {
	file string
	text string // of the file

	lines   *macro.Lines // of the description; nil: it is a file
	numbers []int        // of the items' lines
}

// place returns the place of a field of an item. It reads files again: few items are ever
// asked about.
func (w *written) place(row int, field string) Place {
	p := Place{File: w.file}
	if w.lines != nil {
		p.Line = w.numbers[row]
		p.Source = w.lines.Source(p.Line)
	} else {
		p.Line, p.Source = w.inFile(row)
	}
	if i := strings.Index(p.Source, field); i >= 0 {
		p.Col = utf8.RuneCountInString(p.Source[:i]) + 1
	}
	return p
}

// inFile returns the number and the text of the line that is an item of the file.
func (w *written) inFile(row int) (number int, line string) {
	for line := range strings.SplitSeq(w.text, "\n") {
		number++
		if trimItem(line) == "" {
			continue
		}
		if row == 0 {
			return number, strings.TrimRight(line, "\r")
		}
		row--
	}
	return 0, ""
}
