package submitfile

import (
	"fmt"
	"strings"

	"fairspool/lib/macro"
)

// matchingKind takes files, dirs or any off the front.
func matchingKind(tail string) (kind, rest string) {
	end := 0
	for end < len(tail) && isNameByte(tail[end]) {
		end++
	}
	switch word := strings.ToLower(tail[:end]); word {
	case "files", "dirs", "any":
		if end == len(tail) || isBlank(tail[end]) || tail[end] == '(' || tail[end] == '[' {
			return word, strings.TrimSpace(tail[end:])
		}
	}
	return "", tail
}

// matches is what becomes of the names that patterns match.
type matches struct {
	kind                     string // files, dirs or any
	warnEmpty, failEmpty     bool
	warnTwice, keepDuplicate bool
}

// matchesOf returns what submit_fail_empty_matches and the like say.
func (r *reader) matchesOf(kind string) (m matches, err error) {
	m = matches{kind: kind, warnEmpty: true, warnTwice: true, failEmpty: r.options.FailEmptyMatches}
	for _, s := range []struct {
		name string
		to   *bool
	}{
		{"submit_warn_empty_matches", &m.warnEmpty}, {"submit_fail_empty_matches", &m.failEmpty},
		{"submit_warn_duplicate_matches", &m.warnTwice}, {"submit_allow_duplicate_matches", &m.keepDuplicate},
	} {
		text, at, err := r.setting(s.name)
		if err != nil {
			return m, err
		}
		if text == "" {
			continue
		}
		c, err := macro.ParseCondition(text)
		if err != nil {
			return m, at.errorf("%s: %s: want true or false", s.name, Shorten(text))
		}
		*s.to = c.Holds(r.defined, version)
	}
	if m.kind == "" {
		m.kind, err = r.kindOfMatches()
	}
	return m, err
}

// kindOfMatches returns what submit_match_directories says.
func (r *reader) kindOfMatches() (string, error) {
	const name = "submit_match_directories"
	text, at, err := r.setting(name)
	switch strings.ToLower(text) {
	case "", "yes", "true":
		return "any", err
	case "never", "no", "false":
		return "files", nil
	case "only":
		return "dirs", nil
	}
	return "", at.errorf("%s: %s: want yes, no or only", name, Shorten(text))
}

// setting returns what is in force for one of the commands that queue lines
// themselves heed, which may be written without its underscores.
func (r *reader) setting(name string) (text string, at origin, err error) {
	for _, key := range []string{name, strings.ReplaceAll(name, "_", "")} {
		if v, ok := r.vars[key]; ok {
			r.refer("$(" + key + ")")
			text, err = r.valueOf(v)
			return strings.TrimSpace(text), v.origin(), err
		}
	}
	return "", origin{}, nil
}

// matching returns the names that patterns match: those of folders end in a
// slash.
func (f *source) matching(l logical, kind, tail string) ([]string, error) {
	patterns, err := f.patterns(l, tail)
	if err != nil {
		return nil, err
	}
	if f.options.Glob == nil {
		return nil, errOutside
	}
	m, err := f.matchesOf(kind)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	for _, pattern := range patterns {
		names, err := f.options.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Shorten(pattern), err)
		}
		found := false
		for _, name := range names {
			if folder := strings.HasSuffix(name, "/"); m.kind == "files" && folder || m.kind == "dirs" && !folder {
				continue
			}
			found = true
			if seen[name] && !m.keepDuplicate {
				f.caution(m.warnTwice, l, "matching %s: %s is there already, left out", pattern, name)
				continue
			}
			seen[name] = true
			out = append(out, name)
		}
		switch {
		case found:
		case m.failEmpty:
			return nil, fmt.Errorf("%s: nothing matches", Shorten(pattern))
		default:
			f.caution(m.warnEmpty, l, "matching %s: nothing matches", pattern)
		}
	}
	return out, nil
}

// caution warns of what patterns match, if that is wanted.
func (f *source) caution(wanted bool, l logical, format string, texts ...string) {
	var short []any
	for _, text := range texts {
		short = append(short, Shorten(text))
	}
	if wanted {
		f.note(Warning{Place: l.place(0), Msg: fmt.Sprintf(format, short...)})
	}
}

// patterns returns the patterns of a queue line, of which those on lines of
// their own may hold macros.
func (f *source) patterns(l logical, tail string) ([]string, error) {
	lines, err := f.list(l, tail)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, line := range lines {
		text, err := f.value(line, l.origin)
		if err != nil {
			return nil, err
		}
		out = append(out, macro.List(text)...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("matching: want patterns such as *.dat")
	}
	return out, nil
}
