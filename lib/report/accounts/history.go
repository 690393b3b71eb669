package accounts

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"fairspool/lib/history"
	"fairspool/lib/report/table"
)

var historyColumns = []table.Column{
	{Head: "Name"}, {Head: "Time"}, {Head: "EUP (lower is better)", Right: true}, {Head: "RUP", Right: true},
	{Head: "In Use", Right: true}, {Head: "Usage (hours)", Right: true}, {Head: "Demand", Right: true},
}

// WriteHistory writes the points of series as a table, with times in a zone.
func WriteHistory(w io.Writer, zone *time.Location, list []history.Series) error {
	var rows [][]string
	for _, s := range list {
		for _, p := range s.Points {
			rows = append(rows, []string{
				s.Name, p.Time.In(zone).Format("2006-01-02 15:04"), fixed(p.Effective), fixed(p.Priority),
				fixed(p.InUse), fixed(p.Usage / 3600), fixed(p.Demand),
			})
		}
	}
	return table.Write(w, historyColumns, rows)
}

func fixed(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// instant is a point as programs read it: the names are those of userprio -long.
type instant struct {
	Time                                            time.Time
	EffectivePriority, RealPriority                 float64
	WeightedResourcesUsed, WeightedAccumulatedUsage float64
	Demand                                          float64
}

// Course is one series as programs read it.
type Course struct {
	Name   string
	Points []instant
}

// CourseOf returns a series for JSON.
func CourseOf(s history.Series) Course {
	one := Course{s.Name, make([]instant, len(s.Points))}
	for i, p := range s.Points {
		one.Points[i] = instant{p.Time.UTC(), p.Effective, p.Priority, p.InUse, p.Usage, p.Demand}
	}
	return one
}

// HistoryCSV writes them as comma-separated values.
func HistoryCSV(to io.Writer, list []history.Series) error {
	w := csv.NewWriter(to)
	w.Write([]string{"Name", "Time", "EffectivePriority", "RealPriority", "WeightedResourcesUsed", "WeightedAccumulatedUsage", "Demand"})
	for _, s := range list {
		for _, p := range s.Points {
			line := []string{s.Name, p.Time.UTC().Format(rfc3339Millis)}
			for _, x := range []float64{p.Effective, p.Priority, p.InUse, p.Usage, p.Demand} {
				line = append(line, strconv.FormatFloat(x, 'g', -1, 64))
			}
			w.Write(line)
		}
	}
	w.Flush()
	return w.Error()
}

// rfc3339Millis is RFC 3339 with three decimals, so that times sort as texts.
const rfc3339Millis = "2006-01-02T15:04:05.000Z07:00"
