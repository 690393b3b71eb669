package submitfile

import (
	"strings"
	"unicode/utf8"

	"fairspool/lib/macro"
)

// written is where the items of a queue line stand, one a line: in a file, or in
// the description.
type written struct {
	file string
	text string // of the file

	lines   *macro.Lines // of the description; nil: it is a file
	numbers []int        // of the items' lines
}

// place returns where a field of an item stands. Files are read again for it: few
// items are ever asked about.
func (w *written) place(row int, field string) Place {
	p := Place{File: w.file}
	if w.lines != nil {
		p.Line = w.numbers[row]
		p.Source = w.lines.Source(p.Line)
	} else {
		p.Line, p.Source = w.inFile(row)
	}
	if i := strings.Index(p.Source, field); i >= 0 {
		p.Col = utf8.RuneCountInString(p.Source[:i]) + 1
	}
	return p
}

// inFile returns the number and the text of the line that is an item of the file.
func (w *written) inFile(row int) (number int, line string) {
	for line := range strings.SplitSeq(w.text, "\n") {
		number++
		if trimItem(line) == "" {
			continue
		}
		if row == 0 {
			return number, strings.TrimRight(line, "\r")
		}
		row--
	}
	return 0, ""
}
