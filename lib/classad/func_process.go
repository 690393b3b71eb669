package classad

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// processFunctions convert the texts in which job ads keep arguments and
// environments, and look up users.
//
// In the newer of the two syntaxes (V2) items are set apart by blanks, and
// single quotes keep blanks together; a quote inside them is doubled.
var processFunctions = map[string]*function{
	"envv1tov2":        strictly(1, envV1ToV2),
	"mergeenvironment": between(0, -1, mergeEnvironment),
	"listtoargs":       between(1, 2, listToArgs),
	"argstolist":       between(1, 2, argsToList),
	"userhome":         between(1, 2, userHome).seeing(seesClock),
	"usermap":          between(2, 4, userMap).seeing(seesClock),
}

// quoteItem writes an item in the V2 syntax: runs of blanks and quotes are
// quoted, as HTCondor does.
func quoteItem(b *strings.Builder, item string) {
	special := func(c byte) bool { return space(c) || c == '\'' }
	if item == "" {
		b.WriteString("''")
	}
	for i := 0; i < len(item); {
		if !special(item[i]) {
			b.WriteByte(item[i])
			i++
			continue
		}
		b.WriteByte('\'')
		for i < len(item) && special(item[i]) {
			if item[i] == '\'' {
				b.WriteByte('\'')
			}
			b.WriteByte(item[i])
			i++
		}
		b.WriteByte('\'')
	}
}

// splitItems reads the V2 syntax; false when a quote is not closed.
func splitItems(s string) (items []string, ok bool) {
	var item strings.Builder
	inItem := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'':
			inItem = true
			for i++; ; i++ {
				if i >= len(s) {
					return nil, false
				}
				if s[i] == '\'' {
					if i+1 >= len(s) || s[i+1] != '\'' {
						break
					}
					i++
				}
				item.WriteByte(s[i])
			}
		case space(c):
			if inItem {
				items = append(items, item.String())
				item.Reset()
			}
			inItem = false
		default:
			inItem = true
			item.WriteByte(c)
		}
	}
	if inItem {
		items = append(items, item.String())
	}
	return items, true
}

// environment keeps variables by name; a later one replaces an earlier.
type environment struct {
	names  []string
	values map[string]string
}

func (e *environment) set(item string) bool {
	name, value, ok := strings.Cut(item, "=")
	if !ok || name == "" {
		return false
	}
	if e.values == nil {
		e.values = map[string]string{}
	}
	if _, known := e.values[name]; !known {
		e.names = append(e.names, name)
	}
	e.values[name] = value
	return true
}

// text writes the variables in the V2 syntax, sorted by name.
func (e *environment) text() string {
	var b strings.Builder
	for i, name := range slices.Sorted(slices.Values(e.names)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		quoteItem(&b, name+"="+e.values[name])
	}
	return b.String()
}

// envV1ToV2 reads NAME=value;NAME=value, or the same with a bar where it
// begins with one.
func envV1ToV2(st *state, a []Value) Value {
	if a[0].kind == KindUndefined {
		return a[0]
	}
	s, ok := a[0].Text()
	if !ok {
		return Error()
	}
	delimiter := ";"
	if strings.HasPrefix(s, "|") {
		delimiter, s = "|", s[1:]
	}
	var env environment
	for item := range strings.SplitSeq(s, delimiter) {
		if item = strings.TrimLeft(item, " \t\n\v\f\r"); item != "" && !env.set(item) {
			return Error()
		}
	}
	return st.charged(env.text())
}

func mergeEnvironment(st *state, a []Value) Value {
	var env environment
	for _, v := range a {
		if v.kind == KindUndefined {
			continue
		}
		items, ok := splitItems(v.text())
		if v.kind != KindString || !ok {
			return Error()
		}
		for _, item := range items {
			if !env.set(item) {
				return Error()
			}
		}
	}
	return st.charged(env.text())
}

// syntaxVersion reads the argument that says which syntax arguments have.
func syntaxVersion(a []Value) (int64, bool) {
	if len(a) < 2 {
		return 2, true
	}
	n, ok := a[1].Int()
	return n, ok && (n == 1 || n == 2)
}

func listToArgs(st *state, a []Value) Value {
	version, ok := syntaxVersion(a)
	if !ok || a[0].kind != KindList {
		return Error()
	}
	var b strings.Builder
	for i := range a[0].size() {
		item, ok := st.item(a[0], i).Text()
		if !ok {
			return Error()
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case version == 2:
			quoteItem(&b, item)
		case item == "" || strings.ContainsAny(item, " \t\n\v\f\r\""):
			return Error() // the old syntax cannot say it
		default:
			b.WriteString(item)
		}
	}
	return st.charged(b.String())
}

func argsToList(st *state, a []Value) Value {
	version, ok := syntaxVersion(a)
	s, isText := a[0].Text()
	if !ok || !isText {
		return Error()
	}
	var items []string
	if version == 1 {
		items = strings.FieldsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && space(byte(r)) })
	} else if items, ok = splitItems(s); !ok {
		return Error()
	}
	values := make([]Value, len(items))
	for i, item := range items {
		values[i] = str(item)
	}
	return st.list(values)
}

// userHome is userHome(user[, default]): the home directory that the Context
// knows. An empty default is none.
func userHome(st *state, a []Value) Value {
	if user, ok := a[0].Text(); ok && st.look != nil && st.look.UserHome != nil {
		if directory, ok := st.look.UserHome(user); ok {
			return st.charged(directory)
		}
	}
	if len(a) == 2 && (a[1].kind != KindString || a[1].text() != "") {
		return a[1]
	}
	if a[0].kind != KindString && a[0].kind != KindUndefined {
		return Error()
	}
	return Undefined()
}

// userMap is userMap(map, user[, preferred[, default]]): all names that the
// Context's map has for the user, or, if a preferred one is asked for, that
// one if it is among them, else the first. Case does not matter.
func userMap(st *state, a []Value) Value {
	names, ok := st.mapped(a[0], a[1])
	switch {
	case a[0].kind == KindError || a[1].kind == KindError:
		return Error()
	case !ok && len(a) == 4:
		return a[3]
	case !ok:
		return Undefined()
	case len(a) == 2:
		return st.charged(names)
	}
	preferred, _ := a[2].Text()
	first := ""
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		if equalFold(name, preferred) {
			return st.charged(name)
		}
		if first == "" {
			first = name
		}
	}
	return st.charged(first)
}

// mapped asks the Context's map.
func (st *state) mapped(mapName, user Value) (names string, ok bool) {
	m, isName := mapName.Text()
	u, isUser := user.Text()
	if !isName || !isUser || st.look == nil || st.look.UserMap == nil {
		return "", false
	}
	return st.look.UserMap(m, u)
}
