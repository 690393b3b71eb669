package accounts

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/lib/history"
)

// TestHistoryJSONForm holds that what is written series by series looks like any
// other JSON of these commands.
func TestHistoryJSONForm(t *testing.T) {
	for n := range 3 {
		var list []history.Series
		courses := []course{}
		for i := range n {
			s := history.Series{Name: fmt.Sprintf("a<b&%d@pool", i)}
			one := course{s.Name, []instant{}}
			for j := range i {
				p := history.Point{Time: time.Unix(int64(j), 5e6).UTC(), Priority: 0.5, Effective: 500, InUse: 1, Usage: 1e21, Demand: 3}
				s.Points = append(s.Points, p)
				one.Points = append(one.Points, instant{p.Time, p.Effective, p.Priority, p.InUse, p.Usage, p.Demand})
			}
			list, courses = append(list, s), append(courses, one)
		}
		var got strings.Builder
		if err := HistoryJSON(&got, list); err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(courses); err != nil || got.String() != want.String() {
			t.Errorf("HistoryJSON of %d series writes\n%s, want\n%s%v", n, got.String(), want.String(), err)
		}
	}
}
