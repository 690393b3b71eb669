package submitfile

import "strings"

// unitSeparator parts the fields of an item whose fields have blanks or
// commas in them.
const unitSeparator = "\x1f"

// fields parts an item for so many variables: at unit separators, else at
// commas and blanks, the last one taking the rest. What is missing is empty.
// Fields parted by unit separators for which there is no variable are left out.
func fields(text string, n int) []string {
	out := make([]string, n)
	if strings.Contains(text, unitSeparator) {
		for i := range out {
			var field string
			field, text, _ = strings.Cut(text, unitSeparator)
			out[i] = trimItem(field)
		}
		return out
	}
	for i := range out {
		if i == n-1 {
			out[i] = strings.TrimSpace(text)
			break
		}
		end := strings.IndexAny(text, ", \t")
		if end < 0 {
			out[i] = text
			break
		}
		out[i] = text[:end]
		text = afterSeparator(text[end:])
	}
	return out
}

// afterSeparator passes over blanks with at most one comma among them.
func afterSeparator(text string) string {
	text = strings.TrimLeft(text, " \t")
	if rest, ok := strings.CutPrefix(text, ","); ok {
		text = strings.TrimLeft(rest, " \t")
	}
	return text
}

// trimItem takes blanks off an item; a unit separator is none.
func trimItem(line string) string { return strings.Trim(line, " \t\r\v\f") }
