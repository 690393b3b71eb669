// Package page writes a page of HTML that needs no other files: figures, and sections of text, pictures and tables. It is light or dark
// as the reader's browser is, and can be read from a telephone to a wide screen, by a screen reader, and on paper.
package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/clean"
)

//go:embed page.html
var source string

// MostRows is how many rows a table is to have at most, and longest how many characters a cell.
const (
	MostRows = 25
	longest  = 300
)

// Page is what page.html writes.
type Page struct {
	Title, Subject string        // the heading, and what stands behind it in the title of the window
	Lead           template.HTML // below the heading
	Program        string        // that writes the page
	Figures        []Figure
	Sections       []Section
}

// Version is that of the program.
func (Page) Version() string { return cmdline.Version }

// Figure is a number at the top of the page.
type Figure struct {
	Name, Value, Note string
	Bad               bool
}

// Section is a part of the page under a heading.
type Section struct {
	ID, Title string
	Text      []string
	Findings  []Finding
	Pictures  []Picture
	Tables    []Table
}

// Finding is something amiss.
type Finding struct{ Severity, What, Remedy string }

// Table is one with a caption; the first cell of a row is its heading.
type Table struct {
	ID, Caption string
	Columns     []Column
	Rows        []Row
	More        string // what is left out; empty: nothing
}

// Column is the heading of a column.
type Column struct {
	Name  string
	Note  string // the direction or the unit
	Class string // how it is set; see the classes number, text and name of page.html
}

// Row is a row of a table.
type Row struct {
	Head  string
	Cells []string
	Sum   bool
}

// Picture is a drawing with a caption.
type Picture struct {
	Caption string
	SVG     template.HTML // drawn by package chart, which escapes names
}

// HTML returns the page.
func (p Page) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"inc": func(i int) int { return i + 1 },
		"breaks": func(name string) template.HTML {
			return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(name), "@", "<wbr>@"))
		},
	}).Parse(source)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

// Count writes a number.
func Count(n int) string { return strconv.Itoa(n) }

// Short makes a text of a user's fit for a cell.
func Short(text string) string { return clean.Shortened(clean.Line(text), longest) }
