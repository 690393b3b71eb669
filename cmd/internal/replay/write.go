package replay

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/clean"
	"fairspool/lib/elapsed"
	"fairspool/lib/plural"
	"fairspool/lib/replay"
	"fairspool/lib/workload"
)

// measure is a line of the table.
type measure struct {
	head string
	text func(float64) string
	of   func(m replay.Measures) float64
	pool bool // it is one of the pool, of which a recording says nothing
}

func seconds(s float64) string { return elapsed.Short(int64(math.Round(s)), 3) }

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func number(x float64) string { return fmt.Sprintf("%.3f", x) }

func whole(x float64) string { return count(int(x)) }

func count(n int) string { return strconv.Itoa(n) }

// measures are the lines of the table. What is better, lower or higher, is said in them.
var measures = []measure{
	{"jobs", whole, func(m replay.Measures) float64 { return float64(m.Jobs) }, false},
	{"jobs that never started", whole, func(m replay.Measures) float64 { return float64(m.NotStarted) }, false},
	{"wait, mean (lower is better)", seconds, func(m replay.Measures) float64 { return m.Wait.Mean }, false},
	{"wait, half of the jobs", seconds, func(m replay.Measures) float64 { return m.Wait.P50 }, false},
	{"wait, 95 % of the jobs", seconds, func(m replay.Measures) float64 { return m.Wait.P95 }, false},
	{"wait, 99 % of the jobs", seconds, func(m replay.Measures) float64 { return m.Wait.P99 }, false},
	{"wait, longest", seconds, func(m replay.Measures) float64 { return m.Wait.Max }, false},
	{"mean wait of users, half of them", seconds, func(m replay.Measures) float64 { return m.UserWait.P50 }, false},
	{"mean wait of users, 95 % of them", seconds, func(m replay.Measures) float64 { return m.UserWait.P95 }, false},
	{"slowdown, mean (lower is better, from 1)", number, func(m replay.Measures) float64 { return m.Slowdown.Mean }, false},
	{"slowdown, 95 % of the jobs", number, func(m replay.Measures) float64 { return m.Slowdown.P95 }, false},
	{"wait per run time (lower is better)", number, func(m replay.Measures) float64 { return m.WaitPerRun }, false},
	{"jobs that waited more than a day", whole, func(m replay.Measures) float64 { return float64(m.Starved) }, false},
	{"utilisation (higher is better)", percent, func(m replay.Measures) float64 { return m.Utilisation }, true},
	{"cores idle while jobs waited", percent, func(m replay.Measures) float64 { return m.Loss }, true},
	{"share error (lower is better)", percent, func(m replay.Measures) float64 { return m.ShareError }, true},
	{"Jain's index of slowdowns (1 is equal)", number, func(m replay.Measures) float64 { return m.Jain }, false},
	{"wasted by preemption", percent, func(m replay.Measures) float64 { return m.Wasted }, true},
	{"jobs overtaken by later ones of their user", percent, func(m replay.Measures) float64 { return m.Overtaken }, false},
	{"cycles", whole, func(m replay.Measures) float64 { return float64(m.Cycles) }, true},
}

// spanOf returns the lowest and the highest of some values.
func spanOf(values []float64) (low, high float64) { return slices.Min(values), slices.Max(values) }

// same reports whether one of the runs that are alike in both differs in the other direction than another one, or not at all: then
// shaking alone makes such a difference. One run says nothing.
func same(a, b []float64) bool {
	if len(a) < 2 || len(a) != len(b) {
		return false
	}
	between := make([]float64, len(a))
	for i := range a {
		between[i] = b[i] - a[i]
	}
	low, high := spanOf(between)
	return low <= 0 && high >= 0
}

// write prints the table of measures, and with -users that of users.
func write(c *cmdline.Call, o options, p pooled, variants []*variant) error {
	columns, rows := measureTable(variants)
	if err := c.Table(columns, rows); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.Stdout, "\n%s\n%s\n", o.arrivals(), p.words(base(variants))); err != nil {
		return err
	}
	if o.shake > 0 {
		if _, err := fmt.Fprintln(c.Stdout, o.shaken(variants)); err != nil {
			return err
		}
	}
	if !o.users {
		return nil
	}
	if _, err := fmt.Fprintln(c.Stdout); err != nil {
		return err
	}
	columns, rows = userTable(variants)
	return c.Table(columns, rows)
}

// shaken says what -shake adds to a table.
func (o options) shaken(variants []*variant) string {
	return fmt.Sprintf("(..): the lowest and the highest with submissions moved by up to %d s, %s. =: such moves alone make this difference from \"%s\".",
		workload.Shift, plural.Pick(o.shake, "once", "%d times"), base(variants).name)
}

// measureTable returns the table of measures.
func measureTable(variants []*variant) ([]cmdline.Column, [][]string) {
	columns := []cmdline.Column{{Head: ""}}
	for _, v := range variants {
		columns = append(columns, cmdline.Column{Head: clean.Line(v.name), Right: true})
	}
	rows := make([][]string, len(measures))
	for i, m := range measures {
		rows[i] = append(rows[i], m.head)
		for _, v := range variants {
			text := "-"
			if !m.pool || v.name != recorded {
				text = m.cell(v, base(variants))
			}
			rows[i] = append(rows[i], text)
		}
	}
	return columns, rows
}

// arrivals says when jobs were submitted, and what that means.
func (o options) arrivals() string {
	if o.dependent {
		return fmt.Sprintf("Dependent arrivals: %s a think time after the jobs that their users had waited for, so sooner in a faster pool; all others at their recorded times.",
			plural.Pick(o.following, "1 job is submitted", "%d jobs are submitted"))
	}
	return "Open arrivals: all jobs are submitted at their recorded times, though users of a faster pool would submit sooner, and those of a slower one later."
}

// words says which slots the pool of a configuration had.
func (p pooled) words(v *variant) string {
	switch p.source {
	case ofOption:
		return fmt.Sprintf("Slots: %s (-slots), all the time.", count(v.slots))
	case ofSpool:
		return fmt.Sprintf("Slots: %s that the spool has now, all the time.", plural.Pick(v.slots, "the 1", "the %d"))
	}
	text := "Slots: as the spool recorded them, " + count(v.slots) + " at the start"
	n := v.result.Changes
	var more []string
	for _, part := range []struct {
		n    int
		what string
	}{{n.Came, "came"}, {n.Went, "went"}, {n.Changed, "changed"}} {
		if part.n > 0 {
			more = append(more, count(part.n)+" "+part.what)
		}
	}
	if n.Drained > 0 {
		more = append(more, plural.Pick(n.Drained, "1 machine was drained", "%d machines were drained"))
	}
	if len(more) == 0 {
		return text + "; none came, changed or went."
	}
	return text + "; later " + strings.Join(more, ", ") + "."
}

// cell returns what the table says of a configuration, beside that which others are compared with.
func (m measure) cell(v, base *variant) string {
	values := v.values(m.of)
	text, spread := m.text(values[0]), ""
	if low, high := spanOf(values); m.text(low) != m.text(high) {
		spread = " (" + m.text(low) + " .. " + m.text(high) + ")"
	}
	if v != base && text != m.text(m.of(base.Measures)) && same(base.values(m.of), values) {
		spread += " ="
	}
	return text + spread
}

// base returns the configuration that others are compared with.
func base(variants []*variant) *variant {
	return variants[max(slices.IndexFunc(variants, func(v *variant) bool { return v.name == now }), 0)]
}

// userTable returns the table of users: those first whose mean wait the last configuration changes most.
func userTable(variants []*variant) ([]cmdline.Column, [][]string) {
	columns := []cmdline.Column{{Head: "User"}, {Head: "Jobs", Right: true}, {Head: "Core hours", Right: true}}
	for _, v := range variants {
		columns = append(columns, cmdline.Column{Head: "Wait, " + clean.Line(v.name), Right: true})
	}
	// What the last configuration changes, it changes of the pool's own, and that of what was recorded.
	first, last := base(variants), variants[len(variants)-1]
	if first == last {
		first = variants[0]
	}
	if len(variants) > 1 {
		columns = append(columns, cmdline.Column{Head: "Difference", Right: true})
	}
	gains := func(i int) float64 { return last.users[i].Wait - first.users[i].Wait }
	order := make([]int, len(first.users))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(math.Abs(gains(b)), math.Abs(gains(a))), cmp.Compare(first.users[b].Wait, first.users[a].Wait))
	})
	var rows [][]string
	for _, i := range order {
		u := first.users[i]
		row := []string{clean.Line(u.Name), count(u.Jobs), fmt.Sprintf("%.1f", u.CoreHours)}
		for _, v := range variants {
			row = append(row, seconds(v.users[i].Wait))
		}
		if len(variants) > 1 {
			difference := signed(gains(i))
			if gains(i) != 0 && same(first.waits(i), last.waits(i)) {
				difference += " ="
			}
			row = append(row, difference)
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// signed writes a difference of times.
func signed(s float64) string {
	if s < 0 {
		return "-" + seconds(-s)
	}
	return "+" + seconds(s)
}

// report is what -json prints.
type report struct {
	Start          time.Time
	Slots          int
	Cores          int64
	SlotsFrom      string           // slots (-slots), spool (as they are now) or recorded
	Changes        replay.Changes   // of the slots, under the pool's own configuration
	Arrivals       string           // open or dependent
	Following      int              // jobs that are submitted a think time after the end of others
	Left           []workload.Count // out of the workload, by reason
	Unknown        []workload.Count
	Configurations []configuration
}

type configuration struct {
	Name string
	replay.Measures
	Users  []replay.User
	Shaken []shaken // the same of each run with shaken submissions
}

func reportOf(w *workload.Workload, p pooled, following int, variants []*variant) report {
	r := report{Start: w.Start, Slots: base(variants).slots, Cores: base(variants).cores, SlotsFrom: p.source, Changes: base(variants).result.Changes,
		Arrivals: open, Following: following, Left: append([]workload.Count{}, w.Left...), Unknown: append([]workload.Count{}, w.Unknown...)}
	if w.Steps != nil {
		r.Arrivals = dependent
	}
	for _, v := range variants {
		r.Configurations = append(r.Configurations, configuration{v.name, v.Measures, v.users, append([]shaken{}, v.shaken...)})
	}
	return r
}

// convert prints a workload as CSV.
func convert(c *cmdline.Call, w *workload.Workload) error {
	out := csv.NewWriter(c.Data())
	out.Write(workload.Columns())
	for _, j := range w.Jobs {
		out.Write(w.Row(j))
	}
	out.Flush()
	return out.Error()
}

// writeCSV prints a row for each job or user, and configuration.
func writeCSV(c *cmdline.Call, o options, w *workload.Workload, variants []*variant) error {
	out := csv.NewWriter(c.Data())
	if o.csv == "users" {
		out.Write([]string{"configuration", "user", "jobs", "core_hours", "wait", "slowdown", "surplus"})
		for _, v := range variants {
			for _, u := range v.users {
				real := func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
				out.Write([]string{v.name, u.Name, count(u.Jobs), real(u.CoreHours), real(u.Wait), real(u.Slowdown), real(u.Surplus)})
			}
		}
	} else {
		out.Write(append([]string{"configuration"}, append(workload.Columns(), "first_start", "start", "end", "starts", "lost")...))
		at := func(s int64) string {
			if s < 0 {
				return ""
			}
			return w.Start.Add(time.Duration(s) * time.Second).UTC().Format(time.RFC3339)
		}
		for _, v := range variants {
			for i, j := range w.Jobs {
				f := v.result.Fates[i]
				j.Submit = f.Submit
				out.Write(append(append([]string{v.name}, w.Row(j)...), at(f.First), at(f.Start), at(f.End), count(f.Starts), strconv.FormatInt(f.Lost, 10)))
			}
		}
	}
	out.Flush()
	return out.Error()
}
