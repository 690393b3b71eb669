package userprio

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
	"fairspool/lib/policy/maui"
	"fairspool/spool"
)

// untallied is said of names in whose account nothing is.
const untallied = "nothing is tallied under this name"

// tallies returns what is tallied for one of the other policies, Maui's windowed
// or Grid Engine's, as of now.
func tallies(c *cmdline.Call, windowed bool) ([]accountant.Tally, accountant.Params, error) {
	p := c.Config.Params
	s, err := c.Spool()
	if err != nil {
		return nil, p, err
	}
	var all []accountant.Tally
	if err := s.View(func(v *spool.View) error { all = v.Tallies(); return nil }); err != nil {
		return nil, p, err
	}
	var list []accountant.Tally
	for _, y := range all {
		if y.Windowed() == windowed {
			list = append(list, y.AsOf(c.Now, p))
		}
	}
	return list, p, nil
}

// onlyNamed returns the rows that one of the command's arguments names, all
// without any. It says which arguments name none, for which the command fails in
// the end, in the words of missing.
func onlyNamed[R any](c *cmdline.Call, rows []R, missing string, names func(R) []string) ([]R, error) {
	if len(c.Args) == 0 {
		return rows, nil
	}
	var out []R
	met := map[string]bool{}
	for _, r := range rows {
		all := names(r)
		if slices.ContainsFunc(all, func(n string) bool { return n != "" && slices.Contains(c.Args, n) }) {
			out = append(out, r)
		}
		for _, n := range all {
			met[n] = true
		}
	}
	var failed error
	for _, a := range c.Args {
		if a == "" || !met[a] {
			c.Warn("%s: %s", a, missing)
			failed = cmdline.ErrReported
		}
	}
	return out, failed
}

// decayedRow is usage as Grid Engine's share tree takes it: of a user's jobs
// without project, of a project, or of a user within a project.
type decayedRow struct {
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

// showDecayed shows Grid Engine's decayed usage.
func showDecayed(c *cmdline.Call) error {
	list, p, err := tallies(c, false)
	if err != nil {
		return err
	}
	rows, failed := onlyNamed(c, decayedOf(list, p.Decay), untallied, func(r decayedRow) []string { return []string{r.User, r.Project} })
	if c.Has("json") {
		err = c.JSON(struct {
			HalfTime float64 `json:"halftime"` // hours
			Usage    []decayedRow
		}{p.Decay.HalfTime.Hours(), append([]decayedRow{}, rows...)})
	} else {
		err = c.Table(decayedColumns, decayedCells(rows))
	}
	return cmp.Or(err, failed)
}

// decayedOf returns the rows of tallies: users by name, each without project
// first, then projects.
func decayedOf(list []accountant.Tally, p accountant.DecayParams) []decayedRow {
	rows := make([]decayedRow, 0, len(list))
	for _, y := range list {
		user, project := y.UserProject()
		now, ever := y.Decayed, y.LongTerm
		rows = append(rows, decayedRow{
			User: user, Project: project,
			CPU: now.CPU, Memory: now.Memory, IO: now.IO, Combined: now.Combined(p),
			LongTermCPU: ever.CPU, LongTermMemory: ever.Memory, LongTermIO: ever.IO, LongTermCombined: ever.Combined(p),
		})
	}
	noUser := func(r decayedRow) int {
		if r.User == "" {
			return 1
		}
		return 0
	}
	slices.SortFunc(rows, func(a, b decayedRow) int {
		return cmp.Or(cmp.Compare(noUser(a), noUser(b)), cmp.Compare(a.User, b.User), cmp.Compare(a.Project, b.Project))
	})
	return rows
}

var decayedColumns = []cmdline.Column{
	{Head: "User"}, {Head: "Project"}, {Head: "CPU s", Right: true}, {Head: "Mem GB s", Right: true}, {Head: "IO GB", Right: true},
	{Head: "Combined", Right: true}, {Head: "Long-term", Right: true},
}

func decayedCells(rows []decayedRow) [][]string {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = []string{cmp.Or(r.User, "-"), cmp.Or(r.Project, "-"),
			amount(r.CPU), amount(r.Memory), amount(r.IO), amount(r.Combined), amount(r.LongTermCombined)}
	}
	return cells
}

// amount writes usage.
func amount(x float64) string {
	if x >= 1e15 {
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// windowRow is one credential's usage as FSPOLICY counts it, in percent and in
// processor-seconds, and by window, the newest first, of each kind.
type windowRow struct {
	Type                            string
	Name                            string
	UsagePercent                    float64
	Usage                           float64 // the windows' sum, each decayed by its age
	Dedicated, Equivalent, Utilized []float64
	counted                         []float64 // the one of them that Usage is of
}

// windowView is what -windows shows, as its JSON has it.
type windowView struct {
	Counts      string  // what Usage is of: DEDICATEDPS, DEDICATEDPES or UTILIZEDPS
	FSINTERVAL  float64 // s
	FSDEPTH     int
	FSDECAY     float64
	WindowStart int64 // when window 0 began
	Windows     []windowRow
}

// showWindows shows Maui's fair share windows.
func showWindows(c *cmdline.Call) error {
	list, p, err := tallies(c, true)
	if err != nil {
		return err
	}
	v := windowsOf(list, c.Now, p.Windows, maui.Counted(c.Config))
	total := slices.IndexFunc(v.Windows, func(r windowRow) bool { return r.Type == accountant.KindTotal })
	all := windowRow{}
	if total >= 0 {
		all = v.Windows[total]
	}
	rows, failed := onlyNamed(c, v.Windows, untallied, func(r windowRow) []string { return []string{r.Name} })
	v.Windows = rows
	if c.Has("json") {
		err = c.JSON(v)
	} else {
		err = v.print(c, all)
	}
	return cmp.Or(err, failed)
}

// windowsOf returns the rows of tallies as of now, by type and name. The total
// comes first.
func windowsOf(list []accountant.Tally, now time.Time, p accountant.WindowParams, u maui.Usage) windowView {
	v := windowView{Counts: u.Word, FSINTERVAL: p.Interval.Seconds(), FSDEPTH: p.Depth, FSDECAY: p.Decay,
		WindowStart: p.Start(now).Unix(), Windows: []windowRow{}}
	for _, y := range list {
		r := windowRow{Type: y.Kind, Name: y.Name, Usage: y.FairShare(u.Of, p), Dedicated: []float64{}, Equivalent: []float64{}, Utilized: []float64{}}
		for _, w := range y.Windows {
			r.Dedicated = append(r.Dedicated, w.Dedicated.Seconds())
			r.Equivalent = append(r.Equivalent, w.Equivalent.Seconds())
			r.Utilized = append(r.Utilized, w.Utilized.Seconds())
			r.counted = append(r.counted, u.Of(w).Seconds())
		}
		v.Windows = append(v.Windows, r)
	}
	kinds := accountant.WindowedKinds()
	slices.SortFunc(v.Windows, func(a, b windowRow) int {
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

// print writes the rows as a table whose columns are the windows that have
// anything in them: the total in processor-hours, all others in percent of it.
func (v windowView) print(c *cmdline.Call, all windowRow) error {
	if len(v.Windows) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(c.Stdout, "%s in %% of each window's total; %d windows of %s (FSINTERVAL), each worth %s times the next newer one (FSDECAY); window 0 began %s\n",
		v.Counts, v.FSDEPTH, clockTime(v.FSINTERVAL), strconv.FormatFloat(v.FSDECAY, 'g', -1, 64), time.Unix(v.WindowStart, 0).In(c.Now.Location()).Format(edit.ToSecond))
	if err != nil {
		return err
	}
	columns := []cmdline.Column{{Head: "Type"}, {Head: "Name"}, {Head: "Usage %", Right: true}}
	for k := range max(len(all.counted), 1) {
		columns = append(columns, cmdline.Column{Head: strconv.Itoa(k), Right: true})
	}
	rows := make([][]string, len(v.Windows))
	for i, r := range v.Windows {
		cells := []string{r.Type, r.Name, fmt.Sprintf("%.2f", r.UsagePercent)}
		for k := range len(columns) - len(cells) {
			cells = append(cells, share(r, all, k))
		}
		rows[i] = cells
	}
	return c.Table(columns, rows)
}

// share returns the cell of one window.
func share(r, all windowRow, k int) string {
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
