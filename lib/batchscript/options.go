package batchscript

import (
	"slices"
	"strings"

	"fairspool/lib/nearest"
	"fairspool/lib/submitfile"
)

// option is one of a system's.
type option struct {
	long  string // without dashes; empty: it has none
	short byte   // 0: it has none
	arg   arg
	// do carries it out; nil: it has no meaning here, and why says so.
	do  func(*batch, given) error
	why string
}

// arg reports whether an option has an argument.
type arg byte

const (
	without  arg = iota
	with         // one
	optional     // one behind =, or none
	two          // of which only the second has a meaning
)

// given is an option as a directive has it.
type given struct {
	name string // as written, without argument
	text string // of the argument
	at   submitfile.Place
}

// serve is an option with a meaning. The spec is "long,s=": the long name, the letter, and
// = for an argument, =? for one that may be missing, or == for two.
func serve(spec string, do func(*batch, given) error) option {
	o := optionOf(spec)
	o.do = do
	return o
}

// none are options without a meaning here, for one reason.
func none(why string, specs ...string) (list []option) {
	for _, spec := range specs {
		o := optionOf(spec)
		o.why = why
		list = append(list, o)
	}
	return list
}

func optionOf(spec string) (o option) {
	spec, isOptional := strings.CutSuffix(spec, "=?")
	spec, hasTwo := strings.CutSuffix(spec, "==")
	spec, hasOne := strings.CutSuffix(spec, "=")
	switch {
	case hasTwo:
		o.arg = two
	case isOptional:
		o.arg = optional
	case hasOne:
		o.arg = with
	}
	long, short, both := strings.Cut(spec, ",")
	if o.long = long; both {
		o.short = short[0]
	}
	return o
}

// letters are options that have a letter and no long name.
func letters(list []option) []option {
	for i, o := range list {
		list[i].long, list[i].short = "", o.long[0]
	}
	return list
}

// nothing is asked for by an option whose effect is there anyway, or harms nobody.
func nothing(*batch, given) error { return nil }

// directive carries out a directive.
func (b *batch) directive(rest string, at submitfile.Place) error {
	words, err := wordsOf(rest, at)
	for len(words) > 0 && err == nil {
		n := 0
		n, err = b.word(words[0], words[1:])
		words = words[1+n:]
	}
	return err
}

// word carries out a word of a directive, and returns how many of those behind it are its
// arguments.
func (b *batch) word(w word, rest []word) (n int, err error) {
	switch {
	case len(w.text) < 2 || w.text[0] != '-':
		if b.is(ofSlurm) && (w.text == "hetjob" || w.text == "packjob") {
			return 0, refuse(w.at, "%s: jobs of several parts are not run", w.text)
		}
		b.warn(w.at, "%s: no option, passed over", submitfile.Shorten(w.text))
		return 0, nil
	case b.system.exact:
		i := slices.IndexFunc(b.system.options, func(o option) bool { return o.long == w.text[1:] })
		if i < 0 {
			return b.unknown(w, rest), nil
		}
		return b.take(b.system.options[i], given{name: w.text, at: w.at}, rest)
	case strings.HasPrefix(w.text, "--"):
		return b.long(w, rest)
	}
	return b.letter(w, rest)
}

// long carries out --name, --name=value or --name value; the name may be abbreviated.
func (b *batch) long(w word, rest []word) (n int, err error) {
	name, value, hasValue := strings.Cut(w.text[2:], "=")
	var found []option
	for _, o := range b.system.options {
		if o.long == name {
			found = []option{o}
			break
		}
		if o.long != "" && strings.HasPrefix(o.long, name) {
			found = append(found, o)
		}
	}
	if len(found) > 1 {
		b.warn(w.at, "--%s: is short for several options of %s, such as --%s, passed over", submitfile.Shorten(name), b.system.name, found[0].long)
		return 0, nil
	}
	if len(found) == 0 {
		if hasValue {
			rest = nil
		}
		return b.unknown(word{"--" + name, w.at}, rest), nil
	}
	o, g := found[0], given{name: "--" + found[0].long, at: w.at}
	switch {
	case hasValue && o.arg == without:
		return 0, refuse(w.at, "%s: takes no argument", g.name)
	case hasValue:
		at := w.at
		at.Col += len("--") + len([]rune(name)) + len("=")
		_, err = b.take(o, g, []word{{value, at}})
		return 0, err
	case o.arg == optional:
		rest = nil
	}
	return b.take(o, g, rest)
}

// letter carries out -x, -x value, -xvalue, or several letters without arguments.
func (b *batch) letter(w word, rest []word) (n int, err error) {
	for i := 1; i < len(w.text); i++ {
		name := "-" + w.text[i:i+1]
		j := slices.IndexFunc(b.system.options, func(o option) bool { return o.short == w.text[i] })
		if j < 0 {
			return b.unknown(word{name, w.at}, rest), nil
		}
		o, g := b.system.options[j], given{name: name, at: w.at}
		if value := w.text[i+1:]; o.arg != without && value != "" {
			at := w.at
			at.Col += i + 1
			_, err = b.take(o, g, []word{{strings.TrimPrefix(value, "="), at}})
			return 0, err
		}
		more := rest
		if o.arg == optional {
			more = nil
		}
		if n, err = b.take(o, g, more); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// take carries out an option, with the words that may be its arguments, and returns how many
// are.
func (b *batch) take(o option, g given, rest []word) (n int, err error) {
	switch {
	case o.arg == without:
	case o.arg == two && len(rest) > 1:
		g.text, g.at, n = rest[1].text, rest[1].at, 2
	case o.arg == two:
		return 0, refuse(g.at, "%s: wants two arguments", g.name)
	case len(rest) > 0:
		g.text, g.at, n = rest[0].text, rest[0].at, 1
	case o.arg == with:
		return 0, refuse(g.at, "%s: wants an argument", g.name)
	}
	if o.do == nil {
		b.warn(g.at, "%s: %s, passed over", g.name, o.why)
		return n, nil
	}
	return n, o.do(b, g)
}

// unknown warns of an option that the system has not, and returns how many of the words behind
// it look like its arguments.
func (b *batch) unknown(w word, rest []word) (n int) {
	var names []string
	dash := "-"
	if strings.HasPrefix(w.text, "--") {
		dash = "--"
	}
	for _, o := range b.system.options {
		if o.long != "" {
			names = append(names, dash+o.long)
		}
	}
	hint := ""
	if len(w.text) > 2 {
		hint = nearest.Hint(w.text, names)
	}
	b.warn(w.at, "%s: no option of %s, passed over%s", submitfile.Shorten(w.text), b.system.name, hint)
	for n < len(rest) && !strings.HasPrefix(rest[n].text, "-") {
		n++
	}
	return n
}
