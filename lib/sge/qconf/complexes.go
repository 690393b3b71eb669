package qconf

import "strings"

// columns are those of what qconf -sc prints (complex(5)).
var columns = strings.Fields("name shortcut type relop requestable consumable default urgency")

// ReadComplexes reads the table that qconf -sc prints: one resource on a line, in eight
// columns, which are the Attributes save the first.
func ReadComplexes(text string) ([]Record, []Note) {
	r := newLines(text)
	var list []Record
	for l, ok := r.next(); ok; l, ok = r.next() {
		words := strings.Fields(l.text)
		if len(words) != len(columns) {
			r.note(l.number, "%s: want %d columns, not %d: %s", shown(words[0]), len(columns), len(words), strings.Join(columns, ", "))
			continue
		}
		one := Record{Name: words[0], Line: l.number, Attributes: make([]Attribute, 0, len(columns)-1)}
		for i, value := range words[1:] {
			one.Attributes = append(one.Attributes, Attribute{columns[i+1], value, l.number})
		}
		list = append(list, one)
	}
	// A line of its own ends what qconf prints. Whoever took the heading out may have
	// taken out that, too.
	if r.some && r.heading && r.ruler && !r.ending {
		r.note(r.number, `the table's last line "# >#< ..." is missing: is the file cut off?`)
	}
	return list, r.done()
}
