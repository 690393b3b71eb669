package submitfile

import (
	"strings"

	"fairspool/lib/macro"
)

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

// Uses returns what the description refers to.
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
