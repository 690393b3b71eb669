package mauicfg

import "strings"

// Attribute is one ATTR=VALUE of USERCFG and the like.
type Attribute struct{ Name, Value string }

// Attributes reads what stands behind USERCFG[NAME] and the like: ATTR=VALUE, with blanks
// between two. Names keep their case.
func Attributes(value string) (list []Attribute, notes []string) {
	words := strings.Fields(value)
	for i := 0; i < len(words); i++ {
		name, v, ok := strings.Cut(words[i], "=")
		switch {
		case name != "" && v != "":
			list = append(list, Attribute{name, v})
		case ok && name != "" && (i+1 == len(words) || strings.Contains(words[i+1], "=")):
			notes = append(notes, name+"=: no value")
		default:
			from := i
			for i+1 < len(words) && !isAttribute(words[i+1]) {
				i++
			}
			notes = append(notes, strings.Join(words[from:i+1], " ")+": not read: want ATTRIBUTE=VALUE without blanks")
		}
	}
	return list, notes
}

// isAttribute tells whether a word begins an ATTR=VALUE.
func isAttribute(word string) bool { return strings.Index(word, "=") > 0 }
