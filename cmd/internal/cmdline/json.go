package cmdline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"reflect"
	"strconv"
	"strings"
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

// Lines is a struct that is written as Call.JSON does, but with each value of its lists on one line: for reports, which
// may have megabytes. Only one value at a time is in memory as text.
type Lines struct{ Of any }

// WriteTo writes the object; w is most often buffered.
func (l Lines) WriteTo(w io.Writer) (n int64, err error) {
	x := lineWriter{to: w}
	x.e = json.NewEncoder(&x.text)
	x.e.SetEscapeHTML(false)
	x.put("{\n" + step + string(versionMember))
	x.members(reflect.ValueOf(l.Of))
	x.put("\n}\n")
	return x.n, x.err
}

// lineWriter writes the members of a struct, and keeps the first error.
type lineWriter struct {
	to   io.Writer
	text bytes.Buffer
	e    *json.Encoder
	n    int64
	err  error
}

func (x *lineWriter) put(text string) {
	x.text.WriteString(text)
	if x.err == nil {
		var n int
		n, x.err = x.to.Write(x.text.Bytes())
		x.n += int64(n)
	}
	x.text.Reset()
}

// value writes lead and a value on one line.
func (x *lineWriter) value(lead string, v reflect.Value) {
	x.text.WriteString(lead)
	if err := x.e.Encode(v.Interface()); err != nil {
		x.err = cmp.Or(x.err, err)
		return
	}
	x.text.Truncate(x.text.Len() - 1) // a newline
	x.put("")
}

// members writes the fields of a struct, those of an embedded one in its place.
func (x *lineWriter) members(v reflect.Value) {
	for i := range v.NumField() {
		f, of := v.Type().Field(i), v.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			x.members(of)
		case tag == "-" || options == "omitempty" && (of.IsZero() || of.Kind() == reflect.Slice && of.Len() == 0):
		default:
			x.member(",\n"+step+strconv.Quote(cmp.Or(tag, f.Name))+": ", of)
		}
	}
}

func (x *lineWriter) member(lead string, v reflect.Value) {
	if v.Kind() != reflect.Slice || v.Len() == 0 {
		x.value(lead, v)
		return
	}
	lead += "["
	for i := range v.Len() {
		x.value(lead+"\n"+step+step, v.Index(i))
		lead = ","
	}
	x.put("\n" + step + "]")
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
