package accounts

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
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

type course struct {
	Name   string
	Points []instant
}

// HistoryJSON writes what Call.JSON would, but one series at a time: the text of
// all of them may be much larger than they are.
func HistoryJSON(w io.Writer, list []history.Series) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("  ", "  ")
	open, end := "[\n  ", "[]\n"
	for _, s := range list {
		one := course{s.Name, make([]instant, len(s.Points))}
		for j, p := range s.Points {
			one.Points[j] = instant{p.Time.UTC(), p.Effective, p.Priority, p.InUse, p.Usage, p.Demand}
		}
		text.Reset()
		text.WriteString(open)
		if err := e.Encode(one); err != nil {
			return err
		}
		text.Truncate(text.Len() - 1) // a newline
		if _, err := text.WriteTo(w); err != nil {
			return err
		}
		open, end = ",\n  ", "\n]\n"
	}
	_, err := io.WriteString(w, end)
	return err
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
