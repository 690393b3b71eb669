package submitfile

import (
	"fmt"
	"strings"

	"fairspool/lib/nearest"
)

// uses are the names, in lower case, that a description refers to. Of those
// that are put together from macros only the beginning is known, or the end.
type uses struct {
	names, beginnings, ends map[string]bool
	any                     bool // some name has neither, so it may be any
}

// has tells whether something refers, or may refer, to key.
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

// add adds what text refers to.
func (u *uses) add(text string) {
	if strings.IndexByte(text, '$') < 0 {
		return
	}
	closing := closings(text)
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		r, ok := parseReference(text, i, closing)
		switch {
		case !ok || r.function != "":
		case r.nested:
			u.addNested(r.name)
		default:
			u.names[strings.ToLower(r.name)] = true
		}
	}
}

// unused warns of assignments that are no commands and that nothing refers
// to, naming the nearest command.
func (d *Description) unused() []Warning {
	used := uses{names: map[string]bool{}, beginnings: map[string]bool{}, ends: map[string]bool{}}
	set := map[string]bool{} // names that have a value
	lastQueue := 0
	for i, s := range d.steps {
		used.add(s.text)
		set[strings.ToLower(s.name)] = true
		if s.queue {
			lastQueue = i
		}
	}
	var out []Warning
	for i, s := range d.steps {
		key := strings.ToLower(s.name)
		switch {
		case s.queue:
		case i > lastQueue:
			out = append(out, Warning{d.file, s.line, fmt.Sprintf("%s: stands behind the last queue statement and has no effect", s.name)})
		case key == "cluster", key == "clusterid", key == "process", key == "procid", key == "dollar":
			out = append(out, Warning{d.file, s.line, fmt.Sprintf("%s: is set for every job, this line has no effect", s.name)})
		case isCommand(key):
			if better := outranked(key, set); better != "" {
				out = append(out, Warning{d.file, s.line, fmt.Sprintf("%s: has no effect beside %s", s.name, better)})
			}
		case !used.has(key) && !strings.HasPrefix(key, customPrefix):
			if warning, near := unknown(s.name); near || !used.any {
				out = append(out, Warning{d.file, s.line, warning})
			}
		}
	}
	return out
}

// outranked returns the other name of the same command that has a value and
// counts before key.
func outranked(key string, set map[string]bool) string {
	for _, n := range namesOf(otherNames[key]) {
		if n == key {
			break
		}
		if set[n] {
			return n
		}
	}
	return ""
}

// unknown words the warning of a name that is no command, and tells whether it
// is near to one.
func unknown(name string) (warning string, near bool) {
	if command, ok := nearest.Name(name, servedNames); ok {
		return fmt.Sprintf("%s: unknown command, did you mean %s?", name, command), true
	}
	return name + ": unknown command, and no macro uses it", false
}
