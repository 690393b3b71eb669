package submitfile

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"fairspool/lib/jobargs"
)

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

// includeCommand reads what a command prints. With a file that is there
// already it reads that instead; else the file is made.
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

// errOutside says that Options lack what a description asks for.
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
