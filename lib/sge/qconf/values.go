package qconf

import "strings"

// List reads names with commas or blanks between them; NONE, in any case, is none.
func List(value string) []string {
	if strings.EqualFold(value, "NONE") {
		return nil
	}
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}
