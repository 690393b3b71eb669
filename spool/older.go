package spool

import "strings"

// noteMonth reads what the journal says of a month's history. Before format 2
// that was no checksum, and none is looked at then.
func (s *state) noteMonth(text string) error {
	if s.spool.version.Format < format && strings.Count(text, " ") == 1 {
		text += " 00000000"
	}
	return parseStretch(s.history, text)
}
