package cmdtest

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"
)

// WellFormed fails for a page of HTML that is not well-formed, and for what makes one hard to read for a screen reader: texts for
// pictures, captions and headings of tables, the order of headings, and ids that are there once.
func WellFormed(t testing.TB, text string) {
	t.Helper()
	if strings.Contains(text, "ZgotmplZ") {
		t.Error("the template has refused a value")
	}
	for _, outside := range []string{"<script", "<link", " src=", "@import", "url("} {
		if strings.Contains(text, outside) {
			t.Errorf("the page has %s: it is to need nothing but itself", outside)
		}
	}
	d := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(text, "<wbr>", "")))
	d.Entity = xml.HTMLEntity
	ids, refers := map[string]bool{}, []string{}
	var open []string
	last := "" // heading
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if _, end := token.(xml.EndElement); end {
			open = open[:len(open)-1]
		}
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range e.Attr {
			attr[a.Name.Local] = a.Value
		}
		if id := attr["id"]; id != "" && ids[id] {
			t.Errorf("the id %s is there twice", id)
		}
		ids[attr["id"]] = true
		refers = append(refers, attr["aria-labelledby"], strings.TrimPrefix(attr["href"], "#"))
		name := e.Name.Local
		switch {
		case name == "svg" && (attr["role"] != "img" || attr["aria-label"] == ""):
			t.Errorf("a picture without a text: %v", attr)
		case name == "th" && attr["scope"] == "":
			t.Error("a heading of a table without its scope")
		case name == "html" && attr["lang"] == "":
			t.Error("the page has no language")
		case name == "h2" && last == "", name == "h1" && last != "", name == "h3":
			t.Errorf("%s behind %q", name, last)
		case name == "tbody" && !slices.Contains(open, "table"):
			t.Error("rows outside of a table")
		}
		if name == "h1" || name == "h2" {
			last = name
		}
		open = append(open, name)
	}
	for _, id := range refers {
		if !ids[id] && id != "" {
			t.Errorf("nothing has the id %s", id)
		}
	}
	if tables, captions := strings.Count(text, "<table>"), strings.Count(text, "<caption "); tables != captions || tables == 0 {
		t.Errorf("%d tables and %d captions", tables, captions)
	}
}
