package cmdline

import (
	"cmp"
	"strings"

	"fairspool/lib/nearest"
)

// apart stands before, between and behind the arguments of one occurrence of
// a flag on its way through urfave/cli, which would trim them otherwise. No
// argument of a process can contain it.
const apart = "\x00"

// occurrence is one appearance of a flag on the command line.
type occurrence struct {
	flag    Flag
	letters string // behind the colon
	args    []string
}

// text returns the occurrence as one argument for urfave/cli.
func (o occurrence) text() string {
	if len(o.flag.Args) == 0 {
		return "--" + o.flag.Name
	}
	args := o.args
	if o.flag.Letters != "" {
		args = append([]string{o.letters}, args...)
	}
	return "--" + o.flag.Name + "=" + apart + strings.Join(args, apart) + apart
}

// occurrenceOf is the inverse of text, for the value that urfave/cli found.
func occurrenceOf(f Flag, value string) occurrence {
	o := occurrence{flag: f, args: strings.Split(strings.TrimSuffix(strings.TrimPrefix(value, apart), apart), apart)}
	if f.Letters != "" {
		o.letters, o.args = o.args[0], o.args[1:]
	}
	return o
}

// Parsed is a flag of a line, by its full name, with its arguments.
type Parsed struct {
	Name string
	Args []string
}

// Parse reads words as Execute reads the command line, and runs nothing: the flags
// and other arguments in their order. It fails for what Execute would refuse.
func (c Command) Parse(words []string) (flags []Parsed, args []string, err error) {
	found, args, line, err := c.tokens(words)
	if err == nil {
		err = c.once(found)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, o := range found {
		flags = append(flags, Parsed{o.flag.Name, o.args})
	}
	return flags, append(args, line...), nil
}

// tokens splits a command line, without the program's name, into flags,
// arguments and, for a command with CommandLine, the words behind `--`; these
// are nil without it.
func (c Command) tokens(line []string) (flags []occurrence, args, behind []string, err error) {
	for i := 0; i < len(line); {
		word := line[i]
		switch {
		case word == "--" && c.CommandLine:
			return flags, args, append([]string{}, line[i+1:]...), nil
		case word == "--":
			return flags, append(args, line[i+1:]...), nil, nil
		case c.Number != "" && signed(word):
			f, _ := c.find(c.Number, true)
			flags = append(flags, occurrence{flag: f, args: []string{word}})
			i++
		case len(word) < 2 || word[0] != '-':
			args = append(args, word)
			i++
			if c.Ends != nil && c.Ends(word) {
				return flags, append(args, line[i:]...), nil, nil
			}
		default:
			o, n, err := c.flag(line[i:])
			if err != nil {
				return nil, nil, nil, err
			}
			flags = append(flags, o)
			i += n
		}
	}
	return flags, args, nil, nil
}

// signed tells whether word is a sign followed by a digit.
func signed(word string) bool {
	return len(word) > 1 && (word[0] == '+' || word[0] == '-') && word[1] >= '0' && word[1] <= '9'
}

// flag reads the flag at the front of line, and says how many words it took.
func (c Command) flag(line []string) (o occurrence, n int, err error) {
	word, value, hasValue := strings.Cut(line[0], "=")
	name, letters, hasLetters := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), ":")
	f, ok := c.find(name, strings.HasPrefix(word, "--"))
	switch {
	case !ok:
		return o, 0, Usagef("unknown flag %s%s", word, c.guess(name))
	case f.Refused:
		return o, 0, Usagef("-%s: %s", f.Name, cmp.Or(f.Why, "not part of this version"))
	case hasLetters && f.Letters == "":
		return o, 0, Usagef("-%s: takes no options behind a colon", f.Name)
	case hasValue && len(f.Args) == 0:
		return o, 0, Usagef("-%s: takes no argument", f.Name)
	}
	if i := strings.IndexFunc(letters, func(r rune) bool { return !strings.ContainsRune(f.Letters, r) }); i >= 0 {
		return o, 0, Usagef("-%s:%s: want letters of %s behind the colon", f.Name, letters, f.Letters)
	}
	o = occurrence{flag: f, letters: letters}
	n = 1
	if hasValue {
		o.args = append(o.args, value)
	}
	for ; n < len(line) && c.wants(o, line[n]); n++ {
		o.args = append(o.args, line[n])
	}
	if len(o.args) < len(f.Args) && !f.optional() {
		return o, 0, c.missing(o, line[n:])
	}
	return o, n, nil
}

// wants tells whether word belongs to the occurrence: as long as arguments
// are missing, anything but another flag's name or `--`; then, for a flag that
// takes any number, all that does not look like a flag.
func (c Command) wants(o occurrence, word string) bool {
	if len(o.args) < len(o.flag.Args) {
		return !c.isFlag(word)
	}
	return o.flag.variadic() && (len(word) < 2 || word[0] != '-' && !(c.Number != "" && signed(word)))
}

// isFlag tells whether word is a flag spelled in full, or `--`.
func (c Command) isFlag(word string) bool {
	if word == "--" {
		return true
	}
	if !strings.HasPrefix(word, "-") || len(word) < 2 {
		return false
	}
	_, ok := c.find(strings.TrimPrefix(word[1:], "-"), true)
	return ok
}

func (c Command) missing(o occurrence, rest []string) error {
	what := strings.Join(o.flag.Args[len(o.args):], " ")
	if len(rest) > 0 {
		return Usagef("-%s: wants %s, got the flag %s", o.flag.Name, what, rest[0])
	}
	return Usagef("-%s: wants %s", o.flag.Name, what)
}

// guess proposes the flag nearest to an unknown one, or says where to look.
func (c Command) guess(name string) string {
	var names []string
	for _, f := range c.AllFlags() {
		if len(name) > 1 && strings.HasPrefix(f.Name, name) {
			return "; did you mean -" + f.Name + "?"
		}
		names = append(names, f.Name)
		names = append(names, f.Aliases...)
	}
	if hint := nearest.Hint(name, names); hint != "" {
		return strings.Replace(hint, "did you mean ", "did you mean -", 1)
	}
	if name == "?" {
		return "; did you mean -help?"
	}
	return "; see " + c.Name + " -help"
}
