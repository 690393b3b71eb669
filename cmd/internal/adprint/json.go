package adprint

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"fairspool/lib/classad"
)

// Member is a list of ads under a name, in an object.
type Member struct {
	Name string
	Ads  iter.Seq[*classad.Ad]
}

// Object writes a JSON object whose members are lists of ads, in this order and
// as (*cmdline.Call).JSON would.
func Object(w io.Writer, members []Member) error {
	lead := "{\n"
	for _, m := range members {
		if _, err := io.WriteString(w, lead+step+strconv.Quote(m.Name)+": "); err != nil {
			return err
		}
		if err := list(w, m.Ads, 1); err != nil {
			return err
		}
		lead = ",\n"
	}
	if len(members) == 0 {
		_, err := io.WriteString(w, "{}\n")
		return err
	}
	_, err := io.WriteString(w, "\n}\n")
	return err
}

const (
	// step is what a level of JSON is indented by.
	step = "  "
	// opening is what an object begins with.
	opening = "{\n"
)

// list writes the ads as a list of JSON objects, as (*cmdline.Call).JSON
// would at this depth; at depth 0 with a newline at the end.
func list(w io.Writer, ads iter.Seq[*classad.Ad], depth int) error {
	outer := strings.Repeat(step, depth)
	inner := "\n" + outer + step
	p := classad.NewJSONPrinter(outer + step)
	var b []byte
	lead, end := "["+inner, "[]"
	for ad := range ads {
		b = append(append(b[:0], lead...), opening...)
		lead, end = ","+inner, "\n"+outer+"]"
		before := len(b)
		b = p.Append(b, ad)
		if len(b) == before {
			b = append(b[:before-len(opening)], "{}"...)
		} else {
			b = append(append(b, inner...), '}')
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	if depth == 0 {
		end += "\n"
	}
	_, err := io.WriteString(w, end)
	return err
}
