package cmdline

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
)

// SchemaVersion is the version of the JSON that commands write. A member or output that goes or changes its meaning makes it
// the next; a new one does not.
const SchemaVersion = 1

// versionMember is the first member of each object that commands write.
var versionMember = []byte(`"SchemaVersion": ` + strconv.Itoa(SchemaVersion))

// Output is one form of the JSON that a command writes.
type Output struct {
	// Name is the schema's, docs/schema/NAME.json: "negotiate-health".
	Name string
	// Value is of the type that is written. A List is an object that has one member, a list of such values.
	Value any
}

// List is an Output that is written by NewList.
type List struct {
	Member string
	Of     any
}

// Ads stands, in an Output, for a list of ads in HTCondor's form.
type Ads struct{}

// Wrote is what a command prints of a file that it wrote.
type Wrote struct {
	File  string
	Bytes int64
}

// Warning is what Warn writes to standard error with -json, and Failure what becomes of an error there.
type Warning struct{ Warning Told }

// Failure is an error that ends a command.
type Failure struct {
	Error struct {
		Told
		Excerpt string `json:",omitempty"` // the text that is wrong, with a mark
		Status  int    // the exit status
	}
}

// Told is bad news.
type Told struct{ Command, Message string }

// JSON returns what Call.JSON writes, for files that hold the same.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", step)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return versioned(b.Bytes(), "\n"+step), nil
}

// Line returns what Call.JSON writes, on one line.
func Line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return versioned(b.Bytes(), ""), nil
}

const step = "  "

// versioned returns the text of an object with SchemaVersion as its first member, behind lead: a line break and blanks, or
// nothing on one line. Any other text, and an object that has a SchemaVersion, stays as it is.
func versioned(text []byte, lead string) []byte {
	if len(text) < 2 || text[0] != '{' || bytes.HasPrefix(text[1:], []byte(lead+`"SchemaVersion":`)) {
		return text
	}
	rest := text[1:]
	first := append([]byte("{"+lead), versionMember...)
	if lead == "" {
		first = bytes.ReplaceAll(first, []byte(" "), nil)
	}
	switch {
	case rest[0] != '}':
		first = append(first, ',')
	case lead != "":
		first = append(first, '\n')
	}
	return append(first, rest...)
}

// Stream writes an object with SchemaVersion and one other member, a list, one value at a time.
type Stream struct {
	to    io.Writer
	text  bytes.Buffer
	e     *json.Encoder
	lead  string
	begun bool
}

// NewStream begins a list of this name, which End ends; w is most often Call.Data.
func NewStream(w io.Writer, member string) *Stream {
	s := &Stream{to: w, lead: "{\n" + step + string(versionMember) + ",\n" + step + strconv.Quote(member) + ": ["}
	s.e = json.NewEncoder(&s.text)
	s.e.SetEscapeHTML(false)
	s.e.SetIndent(step+step, step)
	return s
}

// Add writes a value.
func (s *Stream) Add(v any) error {
	s.text.Reset()
	s.text.WriteString(s.lead + "\n" + step + step)
	if err := s.e.Encode(v); err != nil {
		return err
	}
	s.text.Truncate(s.text.Len() - 1) // a newline
	s.lead, s.begun = ",", true
	_, err := s.to.Write(s.text.Bytes())
	return err
}

// End ends the list. A list without End is not valid JSON, so no reader takes a part for
// the whole.
func (s *Stream) End() error {
	end := s.lead
	if s.begun {
		end = "\n" + step
	}
	_, err := io.WriteString(s.to, end+"]\n}\n")
	return err
}
