package macro

import "strings"

// CutDefault takes "NAME:default" apart. A colon within parentheses, as of a reference in
// the name, is not the one. ok tells whether there is a default.
func CutDefault(body string) (name, fallback string, ok bool) {
	return cutOutside(body, ':')
}

// CutFormat takes the body of $INT, $REAL or $STRING apart: the item, without blanks
// around it, and the format behind the first comma outside parentheses, blanks and all.
// ok tells whether there is such a comma.
func CutFormat(body string) (item, format string, ok bool) {
	item, format, ok = cutOutside(body, ',')
	return strings.TrimSpace(item), format, ok
}

// Arguments splits the body of a function at the commas outside parentheses. Blanks
// around the arguments do not count; an empty body is one empty argument.
func Arguments(body string) []string {
	var args []string
	for more := true; more; {
		var arg string
		arg, body, more = cutOutside(body, ',')
		args = append(args, strings.TrimSpace(arg))
	}
	return args
}

// cutOutside cuts text at the first separator outside parentheses.
func cutOutside(text string, separator byte) (before, after string, found bool) {
	depth := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth = max(depth-1, 0)
		case c == separator && depth == 0:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// Items takes the list apart that $CHOICE and $RANDOM_CHOICE find in a macro: at its
// commas, so that items may have blanks in them and be empty, or at blanks if it has no
// comma. An empty list has no items.
func Items(text string) []string {
	if !strings.Contains(text, ",") {
		return strings.Fields(text)
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
	}
	return items
}

// List takes a list apart, whose items are parted by commas and blanks. There are no
// empty items.
func List(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}
