package submitfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/macro"
)

// table is how the lines of `from table` are made items of.
type table struct {
	header int // the row of names, from 0; -1: none
	skip   int // rows left out behind it, or at the beginning
	sep    string
}

// cutTable takes `table` with its options off the front of what stands
// behind from. It is nil where table is the name of a file.
func cutTable(tail string) (t *table, rest string, err error) {
	const word = "table"
	if len(tail) < len(word) || !strings.EqualFold(tail[:len(word)], word) {
		return nil, tail, nil
	}
	rest = tail[len(word):]
	options := ""
	switch {
	case strings.HasPrefix(rest, "("):
		var closed bool
		if options, rest, closed = strings.Cut(rest[1:], ")"); !closed {
			return nil, "", fmt.Errorf("%s: its options are not closed by a parenthesis", Shorten(tail))
		}
	case rest == "" || !isBlank(rest[0]):
		return nil, tail, nil
	}
	t = &table{sep: ","}
	if err := t.set(options); err != nil {
		return nil, "", fmt.Errorf("table(%s): %w", Shorten(options), err)
	}
	return t, strings.TrimSpace(rest), nil
}

// set takes options such as header=0,skip=1,sep=;
func (t *table) set(options string) error {
	for _, option := range macro.List(options) {
		name, value, given := strings.Cut(option, "=")
		n, err := strconv.Atoi(value)
		switch name = strings.ToLower(name); {
		case name == "csv" && !given:
			t.header = -1
		case name == "header" && err == nil && n >= -1 && n < MaxJobs:
			t.header = n
		case name == "skip" && err == nil && n >= 0 && n < MaxJobs:
			t.skip = n
		case name == "sep" && len(value) == 1:
			t.sep = value
		case name == "sep" && strings.EqualFold(value, "tab"):
			t.sep = "\t"
		case name == "trim" && strings.EqualFold(value, "true"):
		case name == "trim" && strings.EqualFold(value, "false"):
			return errors.New("trim=false: blanks around a field never count here")
		default:
			return fmt.Errorf("%s: want csv, header=N, skip=N, trim=true or sep=C", Shorten(option))
		}
	}
	return nil
}

// rows takes the rows of items off lines, and the names in the header row if
// there is one.
func (t *table) rows(lines []string) (items, names []string, err error) {
	if t.header >= 0 {
		if t.header >= len(lines) {
			return nil, nil, fmt.Errorf("table: no row %d with the names, of %d", t.header, len(lines))
		}
		for _, name := range strings.Split(lines[t.header], t.sep) {
			names = append(names, trimItem(name))
		}
		lines = lines[t.header+1:]
	}
	for _, line := range lines[min(t.skip, len(lines)):] {
		items = append(items, strings.ReplaceAll(line, t.sep, unitSeparator))
	}
	return items, names, nil
}
