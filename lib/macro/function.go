package macro

import (
	"fmt"
	"strings"
)

// Substring is $SUBSTR: the bytes of text from start on, the first being 0, and no more
// than length of them if bounded. A negative start counts from the end of the text; a
// negative length leaves that many bytes off its end. What lies outside the text is left
// out.
func Substring(text string, start, length int, bounded bool) string {
	if start < 0 {
		start = max(len(text)+start, 0)
	}
	text = text[min(start, len(text)):]
	if !bounded {
		return text
	}
	if length < 0 {
		length = max(len(text)+length, 0)
	}
	return text[:min(length, len(text))]
}

// Choice is $CHOICE: the item with the index, the first being 0. The error says how far
// the index may go.
func Choice(index int, items []string) (string, error) {
	switch {
	case len(items) == 0:
		return "", fmt.Errorf("index %d: the list is empty", index)
	case index < 0 || index >= len(items):
		return "", fmt.Errorf("index %d: want 0 to %d", index, len(items)-1)
	}
	return items[index], nil
}

// RandomInteger is $RANDOM_INTEGER: one of min, min+step, min+2*step and so on up to
// max, which counts. pick(n) chooses a number from 0 to n-1, each as likely as any other;
// n is at least 1. Errors: step below 1, min above max, or more numbers than fit in 63
// bits.
func RandomInteger(pick func(n int64) int64, min, max, step int64) (int64, error) {
	switch {
	case step < 1:
		return 0, fmt.Errorf("step %d: want 1 or more", step)
	case min > max:
		return 0, fmt.Errorf("%d to %d: want the smaller number first", min, max)
	}
	steps := (uint64(max) - uint64(min)) / uint64(step)
	n := int64(steps) + 1
	if n < 1 {
		return 0, fmt.Errorf("%d to %d: too many numbers to choose from", min, max)
	}
	return min + pick(n)*step, nil
}

// CutDefault takes "NAME:default" apart. A colon within parentheses, as of a reference in
// the name, is not the one. ok tells whether there is a default.
func CutDefault(body string) (name, fallback string, ok bool) {
	return cutOutside(body, ':')
}

// CutFormat takes the body of $INT, $REAL or $STRING apart: the item, without blanks
// around it, and the format behind the first comma outside parentheses, blanks and all.
// ok reports whether there is such a comma.
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

// Filename is $F with letters behind it: parts of a file name. Quotes around the name
// are taken off first.
//
//	f  a relative name is put behind dir, unless that is empty
//	p  the directory with the slash behind it
//	d  the last part of the directory with the slash behind it, dd the last two, ...
//	n  the name without directory and extension
//	x  the extension with its dot
//	b  without the slash when the result is a directory, without the dot when it is an extension
//	u  slashes for backslashes
//	w  backslashes for slashes
//	q  double quotes around the result, with a single quotes
//
// Without p, d, n and x the result is the whole name. The order of the letters does not
// count nor does their case, d counts before p, and x brings the name along with a
// directory, as HTCondor has it.
func Filename(letters, name, dir string) string {
	letters = strings.ToLower(letters)
	has := func(letter string) bool { return strings.Contains(letters, letter) }
	name = unquoted(name)
	if has("u") {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	if has("f") {
		name = absolute(name, dir)
	}
	text := name
	if strings.ContainsAny(letters, "pdnx") {
		text = nameParts(letters, name)
	}
	if has("w") {
		text = strings.ReplaceAll(text, "/", `\`)
	}
	switch {
	case has("q") && has("a"):
		return "'" + text + "'"
	case has("q"):
		return `"` + text + `"`
	}
	return text
}

// Dirname is $DIRNAME: the directory with the slash behind it, empty for a bare name.
func Dirname(name string) string { return Filename("p", name, "") }

// Basename is $BASENAME: the name without its directory, and without the suffix if it
// ends with it.
func Basename(name, suffix string) string {
	return strings.TrimSuffix(Filename("nx", name, ""), suffix)
}

func nameParts(letters, name string) string {
	dir, base, extension := splitName(name)
	if n := strings.Count(letters, "d"); n > 0 {
		dir = lastParts(dir, n)
	} else if !strings.Contains(letters, "p") {
		dir = ""
	}
	n, x := strings.Contains(letters, "n"), strings.Contains(letters, "x")
	switch b := strings.Contains(letters, "b"); {
	case n && x, x && dir != "":
		return dir + base + extension
	case n:
		return dir + base
	case x && b:
		return strings.TrimPrefix(extension, ".")
	case x:
		return extension
	case b:
		return strings.TrimSuffix(dir, "/")
	}
	return dir
}

// splitName takes a name apart into directory, name and extension. A dot at the
// beginning of the name begins no extension.
func splitName(name string) (dir, base, extension string) {
	slash := strings.LastIndexByte(name, '/') + 1
	dir, base = name[:slash], name[slash:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 {
		base, extension = base[:dot], base[dot:]
	}
	return dir, base, extension
}

// lastParts returns the last n parts of a directory that ends with a slash.
func lastParts(dir string, n int) string {
	start := len(dir)
	for ; n > 0 && start > 0; n-- {
		start = strings.LastIndexByte(dir[:start-1], '/') + 1
	}
	return dir[start:]
}

func absolute(name, dir string) string {
	if dir == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(name, "./")
}

// unquoted returns the text without the quotes that stand at both its ends.
func unquoted(text string) string {
	if n := len(text); n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}
