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
	"fairspool/lib/maui"
)

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

// usage is what fair share can count of a window, with FSPOLICY's word for it.
type usage struct {
	word string
	of   func(accountant.Window) accountant.Usage
}

// usageOf returns what is shown under a policy: also where fair share counts nothing,
// what it would count first.
func usageOf(p maui.FSPolicy) usage {
	switch p {
	case maui.DedicatedPES:
		return usage{"DEDICATEDPES", accountant.DedicatedPES}
	case maui.UtilizedPS:
		return usage{"UTILIZEDPS", accountant.UtilizedPS}
	}
	return usage{"DEDICATEDPS", accountant.DedicatedPS}
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
	v := windowsOf(list, c.Now, p.Windows, usageOf(c.Config.Maui.FSPolicy))
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
func windowsOf(list []accountant.Tally, now time.Time, p accountant.WindowParams, u usage) windowView {
	v := windowView{Counts: u.word, FSINTERVAL: p.Interval.Seconds(), FSDEPTH: p.Depth, FSDECAY: p.Decay,
		WindowStart: p.Start(now).Unix(), Windows: []windowRow{}}
	for _, y := range list {
		r := windowRow{Type: y.Kind, Name: y.Name, Usage: y.FairShare(u.of, p), Dedicated: []float64{}, Equivalent: []float64{}, Utilized: []float64{}}
		for _, w := range y.Windows {
			r.Dedicated = append(r.Dedicated, w.Dedicated.Seconds())
			r.Equivalent = append(r.Equivalent, w.Equivalent.Seconds())
			r.Utilized = append(r.Utilized, w.Utilized.Seconds())
			r.counted = append(r.counted, u.of(w).Seconds())
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
