package accounts

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"fairspool/lib/history"
)

// TestCourse holds that a series has all of its points in JSON.
func TestCourse(t *testing.T) {
	for n := range 3 {
		var list []history.Series
		courses := []Course{}
		for i := range n {
			s := history.Series{Name: fmt.Sprintf("a<b&%d@pool", i)}
			one := Course{s.Name, []instant{}}
			for j := range i {
				p := history.Point{Time: time.Unix(int64(j), 5e6).UTC(), Priority: 0.5, Effective: 500, InUse: 1, Usage: 1e21, Demand: 3}
				s.Points = append(s.Points, p)
				one.Points = append(one.Points, instant{p.Time, p.Effective, p.Priority, p.InUse, p.Usage, p.Demand})
			}
			list, courses = append(list, s), append(courses, one)
		}
		for i, s := range list {
			got, _ := json.Marshal(CourseOf(s))
			if want, err := json.Marshal(courses[i]); err != nil || string(got) != string(want) {
				t.Errorf("CourseOf(%v) = %s, want %s", s, got, want)
			}
		}
	}
}
