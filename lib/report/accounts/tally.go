package accounts

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/policy/maui"
	"fairspool/lib/report"
	"fairspool/lib/report/table"
)

// DecayedRow is usage as Grid Engine's share tree takes it: of a user's jobs
// without project, of a project, or of a user within a project.
type DecayedRow struct {
	User, Project    string  `json:",omitempty"`
	CPU              float64 // s
	Memory           float64 // GB s
	IO               float64 // GB
	Combined         float64
	LongTermCPU      float64
	LongTermMemory   float64
	LongTermIO       float64
	LongTermCombined float64
}

// Decayed returns the rows of tallies: users by name, each without project
// first, then projects.
func Decayed(list []accountant.Tally, p accountant.DecayParams) []DecayedRow {
	rows := make([]DecayedRow, 0, len(list))
	for _, y := range list {
		user, project := y.UserProject()
		now, ever := y.Decayed, y.LongTerm
		rows = append(rows, DecayedRow{
			User: user, Project: project,
			CPU: now.CPU, Memory: now.Memory, IO: now.IO, Combined: now.Combined(p),
			LongTermCPU: ever.CPU, LongTermMemory: ever.Memory, LongTermIO: ever.IO, LongTermCombined: ever.Combined(p),
		})
	}
	noUser := func(r DecayedRow) int {
		if r.User == "" {
			return 1
		}
		return 0
	}
	slices.SortFunc(rows, func(a, b DecayedRow) int {
		return cmp.Or(cmp.Compare(noUser(a), noUser(b)), cmp.Compare(a.User, b.User), cmp.Compare(a.Project, b.Project))
	})
	return rows
}

var decayedColumns = []table.Column{
	{Head: "User"}, {Head: "Project"}, {Head: "CPU s", Right: true}, {Head: "Mem GB s", Right: true}, {Head: "IO GB", Right: true},
	{Head: "Combined", Right: true}, {Head: "Long-term", Right: true},
}

// WriteDecayed writes the rows as a table.
func WriteDecayed(w io.Writer, rows []DecayedRow) error {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = []string{cmp.Or(r.User, "-"), cmp.Or(r.Project, "-"),
			amount(r.CPU), amount(r.Memory), amount(r.IO), amount(r.Combined), amount(r.LongTermCombined)}
	}
	return table.Write(w, decayedColumns, cells)
}

// amount writes usage.
func amount(x float64) string {
	if x >= 1e15 {
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// WindowRow is one credential's usage as FSPOLICY counts it, in percent and in
// processor-seconds, and by window, the newest first, of each kind.
type WindowRow struct {
	Type                            string
	Name                            string
	UsagePercent                    float64
	Usage                           float64 // the windows' sum, each decayed by its age
	Dedicated, Equivalent, Utilized []float64
	counted                         []float64 // the one of them that Usage is of
}

// Windows is what -windows shows, as its JSON has it.
type Windows struct {
	Counts      string  // what Usage is of: DEDICATEDPS, DEDICATEDPES or UTILIZEDPS
	FSINTERVAL  float64 // s
	FSDEPTH     int
	FSDECAY     float64
	WindowStart int64 // when window 0 began
	Windows     []WindowRow
}

// WindowsOf returns the rows of tallies as of now, by type and name. The total
// comes first.
func WindowsOf(list []accountant.Tally, now time.Time, p accountant.WindowParams, u maui.Usage) Windows {
	v := Windows{Counts: u.Word, FSINTERVAL: p.Interval.Seconds(), FSDEPTH: p.Depth, FSDECAY: p.Decay,
		WindowStart: p.Start(now).Unix(), Windows: []WindowRow{}}
	for _, y := range list {
		r := WindowRow{Type: y.Kind, Name: y.Name, Usage: y.FairShare(u.Of, p), Dedicated: []float64{}, Equivalent: []float64{}, Utilized: []float64{}}
		for _, w := range y.Windows {
			r.Dedicated = append(r.Dedicated, w.Dedicated.Seconds())
			r.Equivalent = append(r.Equivalent, w.Equivalent.Seconds())
			r.Utilized = append(r.Utilized, w.Utilized.Seconds())
			r.counted = append(r.counted, u.Of(w).Seconds())
		}
		v.Windows = append(v.Windows, r)
	}
	kinds := accountant.WindowedKinds()
	slices.SortFunc(v.Windows, func(a, b WindowRow) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Type), slices.Index(kinds, b.Type)), cmp.Compare(a.Name, b.Name))
	})
	if len(v.Windows) > 0 && v.Windows[0].Type == accountant.KindTotal {
		total := v.Windows[0].Usage
		for i := range v.Windows {
			v.Windows[i].UsagePercent = accountant.Percent(v.Windows[i].Usage, total)
		}
	}
	return v
}

// Total returns the row of the total, empty without one.
func (v Windows) Total() WindowRow {
	if i := slices.IndexFunc(v.Windows, func(r WindowRow) bool { return r.Type == accountant.KindTotal }); i >= 0 {
		return v.Windows[i]
	}
	return WindowRow{}
}

// Write writes the rows as a table with a column for each window that has usage: the total, all, in
// processor-hours, the others in percent of it. Times are in a zone.
func (v Windows) Write(w io.Writer, all WindowRow, zone *time.Location) error {
	if len(v.Windows) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s in %% of each window's total; %d windows of %s (FSINTERVAL), each worth %s times the next newer one (FSDECAY); window 0 began %s\n",
		v.Counts, v.FSDEPTH, clockTime(v.FSINTERVAL), strconv.FormatFloat(v.FSDECAY, 'g', -1, 64), time.Unix(v.WindowStart, 0).In(zone).Format(report.ToSecond))
	if err != nil {
		return err
	}
	columns := []table.Column{{Head: "Type"}, {Head: "Name"}, {Head: "Usage %", Right: true}}
	for k := range max(len(all.counted), 1) {
		columns = append(columns, table.Column{Head: strconv.Itoa(k), Right: true})
	}
	rows := make([][]string, len(v.Windows))
	for i, r := range v.Windows {
		cells := []string{r.Type, r.Name, fmt.Sprintf("%.2f", r.UsagePercent)}
		for k := range len(columns) - len(cells) {
			cells = append(cells, share(r, all, k))
		}
		rows[i] = cells
	}
	return table.Write(w, columns, rows)
}

// share returns the cell of one window.
func share(r, all WindowRow, k int) string {
	at := func(list []float64) float64 {
		if k < len(list) {
			return list[k]
		}
		return 0
	}
	switch total := at(all.counted); {
	case r.Type == accountant.KindTotal:
		return fmt.Sprintf("%.1fh", total/3600)
	case total == 0:
		return "-"
	default:
		return fmt.Sprintf("%.2f", accountant.Percent(at(r.counted), total))
	}
}

// clockTime writes seconds as Maui does, HH:MM:SS, the hours above 24 if need be.
func clockTime(seconds float64) string {
	n := int64(seconds)
	text := fmt.Sprintf("%02d:%02d:%02d", n/3600, n/60%60, n%60)
	if part := seconds - float64(n); part > 0 {
		text += strconv.FormatFloat(part, 'f', 3, 64)[1:]
	}
	return text
}
