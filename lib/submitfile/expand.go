package submitfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/macro"
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
	name  string // as written
	text  string
	at    *origin // of the value; nil: no user wrote it
	exact bool    // text stands there as it is
}

func (v *variable) origin() origin {
	if v.at == nil {
		return origin{}
	}
	return *v.at
}

// scope is what macros are expanded in: the values in force at a line, and the
// proc.
type scope struct {
	*Description
	vars map[string]*variable // by name in lower case
	proc *Job                 // nil while the description is read
	warn func(Warning)        // nil: warnings are dropped

	varied  bool     // something depended on the proc since this was last cleared
	open    []string // names being expanded
	spent   int      // expansions since the value was begun
	reading int      // bytes expanded since the value was begun
	depth   int      // of the expansion under way
	fault   int      // where in its text the reference stands that expand failed for
	out     []byte   // of the expansions under way, one behind the other
}

// value expands text, which stands at a place.
func (s *scope) value(text string, at origin) (string, error) {
	return s.valueOf(&variable{text: text, at: &at, exact: true})
}

// valueOf expands the text of a variable.
func (s *scope) valueOf(v *variable) (string, error) {
	if strings.IndexByte(v.text, '$') < 0 {
		return v.text, nil
	}
	s.spent, s.reading, s.depth = 0, 0, 0
	s.open = s.open[:0]
	out, err := s.expand(v.text, s.template(v.text), v.origin())
	return out, s.placed(err, v)
}

// placed gives an error of expand a place, unless it has one: of the failed reference if
// v's text stands as it is, else of v.
func (s *scope) placed(err error, v *variable) error {
	if err == nil {
		return nil
	}
	at := v.origin()
	if v.exact {
		at = at.behind(s.fault)
	}
	return at.wrap(err)
}

// expand expands text with its template t. An error has no place yet, or the place of the
// failing macro.
func (s *scope) expand(text string, t template, at origin) (string, error) {
	s.fault = 0
	if s.reading += len(text); s.reading > maxRead {
		return "", fmt.Errorf("more than %d bytes of macros in one value", maxRead)
	}
	if t.parts == nil {
		return text, nil
	}
	if s.depth++; s.depth > maxDepth {
		return "", fmt.Errorf("macros nested more than %d deep", maxDepth)
	}
	begin := len(s.out)
	defer func() {
		s.depth--
		s.out = s.out[:begin]
	}()
	for i := range t.parts {
		p := &t.parts[i]
		if !p.Ref {
			s.out = append(s.out, p.Text...)
			if p.doubt != "" {
				s.caution(at, Warning{Msg: p.doubt})
			}
			continue
		}
		if s.spent++; s.spent > maxExpansions {
			return "", fmt.Errorf("more than %d macros in one value", maxExpansions)
		}
		v, err := s.reference(p, at)
		if err != nil {
			s.fault = lengthOf(t.parts[:i])
			return "", err
		}
		if s.out = append(s.out, v...); len(s.out)-begin > maxText {
			return "", fmt.Errorf("a value longer than %d bytes", maxText)
		}
	}
	return string(s.out[begin:]), nil
}

func lengthOf(parts []part) (n int) {
	for i := range parts {
		n += len(parts[i].Text)
	}
	return n
}

func (s *scope) reference(p *part, at origin) (string, error) {
	switch p.Function {
	case "", "ENV":
		return s.ofName(p, at)
	case "$":
		return s.ofSlot(p, at)
	}
	out, err := s.call(p, at)
	var within *callError
	if err != nil && !isPlaced(err) && !errors.As(err, &within) {
		err = &callError{p.Function, p.Body, err}
	}
	return out, err
}

// callError is the error of a function. In nested calls it names the failing one.
type callError struct {
	function, body string
	err            error
}

func (e *callError) Error() string {
	return fmt.Sprintf("$%s(%s): %v", e.function, Shorten(e.body), e.err)
}

func (e *callError) Unwrap() error { return e.err }

func isPlaced(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// nameOf returns the name in a reference. ok is false when the name was put together from
// macros and is invalid: then the reference is text as it stands.
func (s *scope) nameOf(p *part, at origin) (name, key string, ok bool, err error) {
	if p.key != "" {
		return p.name, p.key, true, nil
	}
	name, err = s.expand(p.name, s.template(p.name), at)
	if name = strings.TrimSpace(name); err != nil {
		return "", "", false, err
	}
	if !macro.IsName(name) {
		return name, "", false, nil
	}
	if len(name) > maxName {
		return "", "", false, fmt.Errorf("$(%s): a name longer than %d bytes", Shorten(name), maxName)
	}
	return name, strings.ToLower(name), true, nil
}

// noName returns a reference with an invalid name, put together, as plain text.
func (s *scope) noName(p *part, name string, at origin) (string, error) {
	s.caution(at, Warning{Msg: fmt.Sprintf("$%s(%s): not a name, taken as it stands", p.Function, Shorten(name))})
	if p.hasDefault {
		fallback, err := s.expand(p.defaultText, s.template(p.defaultText), at)
		if err != nil {
			return "", err
		}
		name += ":" + fallback
	}
	return "$" + p.Function + "(" + name + ")", nil
}

// ofName returns $(NAME) or $ENV(NAME).
func (s *scope) ofName(p *part, at origin) (string, error) {
	name, key, ok, err := s.nameOf(p, at)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return s.noName(p, name, at)
	case p.Function == "ENV":
		return s.environment(p, name, at)
	}
	return s.macro(p, name, key, at)
}

func (s *scope) macro(p *part, name, key string, at origin) (string, error) {
	text, found, err := s.named(name, key)
	if err != nil || found && (text != "" || !p.hasDefault) {
		return text, err
	}
	return s.missing(p, found, at, Warning{Msg: "$(" + Shorten(name) + "): not defined, taken as empty", Undefined: name})
}

// named returns the value of a name: an item of the queue line, a macro of the
// description, of the pool, or of the language.
func (s *scope) named(name, key string) (text string, ok bool, err error) {
	if text, ok, err := s.ofProc(name, key); ok || err != nil {
		return text, ok, err
	}
	v, ok := s.lookup(key)
	if !ok {
		return "", false, nil
	}
	text, err = s.inside(v, key, name)
	return text, true, err
}

// lookup returns the value in force of a name, without values that depend on the proc.
func (s *scope) lookup(key string) (*variable, bool) {
	if v, ok := s.item(key); ok {
		return v, true
	}
	if v, ok := s.vars[key]; ok {
		return v, true
	}
	if text, ok := s.options.Predefined[strings.ToUpper(key)]; ok {
		return &variable{name: key, text: text}, true
	}
	if key == "submit_file" && s.file != commandLine {
		return &variable{name: key, text: strings.ReplaceAll(s.file, "$", "$(DOLLAR)")}, true
	}
	return nil, false
}

// inside expands the value of a variable, which must not be under way already.
func (s *scope) inside(v *variable, key, name string) (string, error) {
	if strings.IndexByte(v.text, '$') < 0 {
		if s.reading += len(v.text); s.reading > maxRead {
			return "", fmt.Errorf("more than %d bytes of macros in one value", maxRead)
		}
		return v.text, nil
	}
	if slices.Contains(s.open, key) {
		return "", v.origin().errorf("%s: refers to itself through $(%s)", v.name, name)
	}
	s.open = append(s.open, key)
	text, err := s.expand(v.text, s.template(v.text), v.origin())
	s.open = s.open[:len(s.open)-1]
	return text, s.placed(err, v)
}

func (s *scope) missing(p *part, defined bool, at origin, warning Warning) (string, error) {
	if p.hasDefault {
		return s.expand(p.defaultText, s.template(p.defaultText), at)
	}
	if !defined {
		s.caution(at, warning)
	}
	return "", nil
}

func (s *scope) caution(at origin, warning Warning) {
	if s.warn != nil {
		warning.Place = at.place(0)
		warning.Col = 0
		s.warn(warning)
	}
}

// environment returns $ENV(NAME).
func (s *scope) environment(p *part, name string, at origin) (string, error) {
	if s.options.LookupEnv != nil {
		v, ok := s.options.LookupEnv(name)
		if ok && (v != "" || !p.hasDefault) {
			return v, nil
		}
	}
	return s.missing(p, false, at, Warning{Msg: "$ENV(" + Shorten(name) + "): not set in the environment, taken as empty"})
}

// ofSlot leaves $$() to the starter, which knows the slot. What stands within
// is expanded now.
func (s *scope) ofSlot(p *part, at origin) (string, error) {
	if strings.IndexByte(p.Body, '$') < 0 {
		return p.Text, nil
	}
	body, err := s.expand(p.Body, s.template(p.Body), at)
	return "$$(" + body + ")", err
}

// builtin reports whether the language itself gives a name, in lower case, a
// value.
func builtin(key string) bool {
	switch key {
	case "cluster", "clusterid", "dollar":
		return true
	}
	return ofEachProc(key)
}

// ofEachProc reports whether a name's value is another one for every proc.
func ofEachProc(key string) bool {
	switch key {
	case "process", "procid", "jobid", "step", "item", "itemindex", "row", "node":
		return true
	}
	return false
}

// Settled reports whether a description's own value for a name has no effect,
// since the language gives it another for every job. HTCondor's submit replaces
// these and leaves ClusterId and ProcId alone.
func Settled(key string) bool {
	switch key {
	case "cluster", "process", "dollar":
		return true
	}
	return false
}

// ofProc returns the value of a name that is the language's own. A variable of the
// queue line outranks it, except for DOLLAR.
func (s *scope) ofProc(name, key string) (text string, ok bool, err error) {
	if len(key) > len("itemindex") || !builtin(key) {
		return "", false, nil
	}
	if key == "dollar" {
		return "$", true, nil
	}
	if s.owns(key) {
		return "", false, nil
	}
	if s.proc == nil {
		return "", true, fmt.Errorf("$(%s): has no value yet where conditions, includes and queue lines are read", name)
	}
	switch key {
	case "cluster", "clusterid":
		return strconv.Itoa(s.proc.cluster), true, nil
	case "node":
		ok, err := s.parallel()
		return "0", ok, err // a job has one node
	case "item":
		return "", true, nil // see item
	case "jobid":
		return s.jobID()
	}
	s.varied = true
	switch key {
	case "process", "procid":
		return strconv.Itoa(s.proc.proc), true, nil
	case "step":
		return strconv.Itoa(s.proc.step), true, nil
	default: // itemindex, row
		return strconv.Itoa(s.proc.row), true, nil
	}
}

// jobID returns $(ClusterId).$(ProcId), which the description may have changed.
func (s *scope) jobID() (text string, ok bool, err error) {
	cluster, _, err := s.named("ClusterId", "clusterid")
	if err != nil {
		return "", true, err
	}
	proc, _, err := s.named("ProcId", "procid")
	return cluster + "." + proc, true, err
}

// parallel reports whether the universe is the parallel one. The jobs of others have no
// node.
func (s *scope) parallel() (bool, error) {
	for _, name := range []string{"universe", "jobuniverse"} {
		text, ok, err := s.named(name, name)
		if err != nil {
			return false, err
		}
		if text = strings.Trim(strings.TrimSpace(text), `"`); ok && text != "" {
			return strings.EqualFold(text, "parallel") || text == "11", nil
		}
	}
	return false, nil
}

// owns reports whether the description gives a name of the language a value of
// its own.
func (s *scope) owns(key string) bool {
	if s.proc != nil && slices.Contains(s.proc.queue.keys, key) {
		return true
	}
	_, own := s.vars[key]
	return own && !Settled(key)
}

// maxFolded bounds the bytes of all values that refer to themselves: each
// assignment keeps its own, and a thousand lines of A = $(A) more grow as the
// square.
const maxFolded = 128 << 20

// withItself puts the earlier value of a name in place of its references to
// itself, as the language wants it: A = $(A) more. A macro function that asks
// for the name, as in A = $Fn(A), is given the earlier value too.
func (r *reader) withItself(a Assignment, key string) (out string, folded bool, err error) {
	if !strings.Contains(a.Text, "$") {
		return a.Text, false, tooLong(len(a.Text))
	}
	earlier, defined := r.earlier(key)
	out, fits := macro.Replace(a.Text, maxText, func(p macro.Part) (text string, ok bool) {
		if p.Function == "" {
			text, ok = itself(p, key, earlier, defined)
		} else if defined && err == nil {
			text, ok, err = r.callOfItself(p, key, earlier, a.at)
		}
		folded = folded || ok
		return text, ok
	})
	if err == nil && !fits {
		err = tooLong(maxText + 1)
	}
	if folded {
		if r.folded += len(out); r.folded > maxFolded && err == nil {
			err = fmt.Errorf("values that refer to themselves take more than %d bytes in all", maxFolded)
		}
	}
	return out, folded, err
}

func tooLong(n int) error {
	if n > maxText {
		return fmt.Errorf("longer than %d bytes", maxText)
	}
	return nil
}

// earlier returns the value of a name before the line under way.
func (r *reader) earlier(key string) (text string, ok bool) {
	if v, ok := r.vars[key]; ok {
		return v.text, true
	}
	text, ok = r.options.Predefined[strings.ToUpper(key)]
	return text, ok
}

// itself returns what stands for a reference if it is one to key.
func itself(p macro.Part, key, earlier string, defined bool) (text string, ok bool) {
	// No further into the body than its name: it may be nested deeply.
	if len(p.Body) < len(key) || !strings.EqualFold(p.Body[:len(key)], key) {
		return "", false
	}
	fallback, hasDefault := strings.CutPrefix(p.Body[len(key):], ":")
	if !hasDefault && fallback != "" {
		return "", false
	}
	if defined {
		return earlier, true
	}
	return fallback, true
}

// callOfItself returns what stands for a macro function if an argument of it is the
// plain name key: its result where the earlier value has no macros, else the
// function with that value for the name.
func (r *reader) callOfItself(p macro.Part, key, earlier string, at origin) (text string, ok bool, err error) {
	if p.Function == "ENV" || p.Function == "$" || strings.Contains(p.Body, "$") {
		return "", false, nil
	}
	args := macro.Arguments(p.Body)
	is := func(arg string) bool { return strings.EqualFold(arg, key) }
	if !slices.ContainsFunc(args, is) {
		return "", false, nil
	}
	if p.Function == "RANDOM_CHOICE" {
		if len(args) > 1 {
			return "", false, nil // items, not the name of a list
		}
		return "$RANDOM_CHOICE(" + strings.Join(macro.Items(earlier), ",") + ")", true, nil
	}
	if !strings.Contains(earlier, "$") && p.Function != "RANDOM_INTEGER" {
		text, err := r.value(p.Text, at)
		return strings.ReplaceAll(text, "$", "$(DOLLAR)"), err == nil, err
	}
	for i, arg := range args {
		if is(arg) {
			args[i] = earlier
		}
	}
	return "$" + p.Function + "(" + strings.Join(args, ",") + ")", true, nil
}

// uses are the names, in lower case, that a description refers to. Of those
// that are put together from macros only the beginning is known, or the end.
type uses struct {
	names, beginnings, ends map[string]bool
	any                     bool // some name has neither, so it may be any
}

// has reports whether something refers, or may refer, to key.
func (u uses) has(key string) bool {
	if u.names[key] {
		return true
	}
	for i := 1; i <= min(len(key), maxName); i++ {
		if u.beginnings[key[:i]] || u.ends[key[len(key)-i:]] {
			return true
		}
	}
	return false
}

// addNested adds a name that has references in it. It reads no more than the
// ends of the name, for names nested deeply are added level by level.
func (u *uses) addNested(name string) {
	before, _, _ := strings.Cut(name, "$")
	after := name[strings.LastIndexByte(name, ')')+1:]
	switch {
	case before != "":
		u.beginnings[strings.ToLower(before)] = true
	case after != "":
		u.ends[strings.ToLower(after)] = true
	default:
		u.any = true
	}
}

// add adds what text refers to, to a depth that no value reaches.
func (u *uses) add(text string, depth int) {
	if strings.IndexByte(text, '$') < 0 || depth > maxDepth {
		return
	}
	for _, p := range macro.Split(text) {
		if !p.Ref {
			continue
		}
		name, fallback, _ := macro.CutDefault(p.Body)
		name = strings.TrimSpace(name)
		switch {
		case p.Function == "" && strings.Contains(name, "$"):
			u.addNested(name)
			u.add(name, depth+1)
			u.add(fallback, depth+1)
		case p.Function == "":
			u.names[strings.ToLower(name)] = true
			u.add(fallback, depth+1)
		default:
			u.add(p.Body, depth+1)
			if p.Function == "$" || p.Function == "ENV" {
				continue // names of a slot or of the environment
			}
			for _, arg := range macro.Arguments(p.Body) {
				if macro.IsName(arg) {
					u.names[strings.ToLower(arg)] = true
				}
			}
		}
	}
}

// Uses tells which names a description refers to, from a value, a condition,
// an include or a queue line.
type Uses struct{ uses }

// Refer reports whether something refers to a name, or may.
func (u Uses) Refer(name string) bool { return u.any || u.Certainly(name) }

// Certainly tells the same, and leaves out references that may be to any name.
func (u Uses) Certainly(name string) bool { return u.has(strings.ToLower(name)) }

// Uses returns the names that the description refers to.
func (d *Description) Uses() Uses {
	u := uses{names: map[string]bool{}, beginnings: map[string]bool{}, ends: map[string]bool{}}
	for _, text := range d.referring {
		u.add(text, 0)
	}
	for _, s := range d.statements {
		if s.queue == nil {
			u.add(s.Text, 0)
			continue
		}
		u.add(s.queue.text, 0)
		for _, line := range s.queue.items.lines {
			u.add(line, 0)
		}
	}
	return Uses{u}
}

// AfterLast tells of each assignment, in the order of Assignments, whether it
// stands behind the last queue line, where it has no effect.
func (d *Description) AfterLast() []bool {
	var out []bool
	last := 0
	for _, s := range d.statements {
		if s.queue != nil {
			last = len(out)
			continue
		}
		out = append(out, false)
	}
	for i := last; i < len(out); i++ {
		out[i] = true
	}
	return out
}
