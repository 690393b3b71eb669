package replay

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/clean"
	"fairspool/lib/elapsed"
	"fairspool/lib/replay"
	"fairspool/lib/workload"
)

// measure is a line of the table.
type measure struct {
	head string
	of   func(m replay.Measures) string
	pool bool // it is one of the pool, of which a recording says nothing
}

func seconds(s float64) string { return elapsed.Short(int64(math.Round(s)), 3) }

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func number(x float64) string { return fmt.Sprintf("%.3f", x) }

func count(n int) string { return strconv.Itoa(n) }

// measures are the lines of the table. What is better, lower or higher, is said in them.
var measures = []measure{
	{"jobs", func(m replay.Measures) string { return count(m.Jobs) }, false},
	{"jobs that never started", func(m replay.Measures) string { return count(m.NotStarted) }, false},
	{"wait, mean (lower is better)", func(m replay.Measures) string { return seconds(m.Wait.Mean) }, false},
	{"wait, half of the jobs", func(m replay.Measures) string { return seconds(m.Wait.P50) }, false},
	{"wait, 95 % of the jobs", func(m replay.Measures) string { return seconds(m.Wait.P95) }, false},
	{"wait, 99 % of the jobs", func(m replay.Measures) string { return seconds(m.Wait.P99) }, false},
	{"wait, longest", func(m replay.Measures) string { return seconds(m.Wait.Max) }, false},
	{"mean wait of users, half of them", func(m replay.Measures) string { return seconds(m.UserWait.P50) }, false},
	{"mean wait of users, 95 % of them", func(m replay.Measures) string { return seconds(m.UserWait.P95) }, false},
	{"slowdown, mean (lower is better, from 1)", func(m replay.Measures) string { return number(m.Slowdown.Mean) }, false},
	{"slowdown, 95 % of the jobs", func(m replay.Measures) string { return number(m.Slowdown.P95) }, false},
	{"wait per run time (lower is better)", func(m replay.Measures) string { return number(m.WaitPerRun) }, false},
	{"jobs that waited more than a day", func(m replay.Measures) string { return count(m.Starved) }, false},
	{"utilisation (higher is better)", func(m replay.Measures) string { return percent(m.Utilisation) }, true},
	{"cores idle while jobs waited", func(m replay.Measures) string { return percent(m.Loss) }, true},
	{"share error (lower is better)", func(m replay.Measures) string { return percent(m.ShareError) }, true},
	{"Jain's index of slowdowns (1 is equal)", func(m replay.Measures) string { return number(m.Jain) }, false},
	{"wasted by preemption", func(m replay.Measures) string { return percent(m.Wasted) }, true},
	{"jobs overtaken by later ones of their user", func(m replay.Measures) string { return percent(m.Overtaken) }, false},
	{"cycles", func(m replay.Measures) string { return count(m.Cycles) }, true},
}

// write prints the table of measures, and with -users that of users.
func write(c *cmdline.Call, o options, variants []*variant) error {
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
				text = m.of(v.Measures)
			}
			rows[i] = append(rows[i], text)
		}
	}
	if err := c.Table(columns, rows); err != nil || !o.users {
		return err
	}
	if _, err := fmt.Fprintln(c.Stdout); err != nil {
		return err
	}
	return writeUsers(c, variants)
}

// writeUsers prints users: those first whose mean wait the last configuration changes most.
func writeUsers(c *cmdline.Call, variants []*variant) error {
	columns := []cmdline.Column{{Head: "User"}, {Head: "Jobs", Right: true}, {Head: "Core hours", Right: true}}
	for _, v := range variants {
		columns = append(columns, cmdline.Column{Head: "Wait, " + clean.Line(v.name), Right: true})
	}
	// What the last configuration changes, it changes of the pool's own, and that of what was recorded.
	first, last := variants[max(slices.IndexFunc(variants, func(v *variant) bool { return v.name == now }), 0)], variants[len(variants)-1]
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
			sign := "+"
			if gains(i) < 0 {
				sign = "-"
			}
			row = append(row, sign+seconds(math.Abs(gains(i))))
		}
		rows = append(rows, row)
	}
	return c.Table(columns, rows)
}

// report is what -json prints.
type report struct {
	SchemaVersion  int
	Start          time.Time
	Slots          int
	Cores          int64
	Left           []workload.Count // out of the workload, by reason
	Unknown        []workload.Count
	Configurations []configuration
}

type configuration struct {
	Name string
	replay.Measures
	Users []replay.User
}

func reportOf(w *workload.Workload, p pooled, variants []*variant) report {
	r := report{SchemaVersion: 1, Start: w.Start, Slots: len(p.slots), Cores: variants[len(variants)-1].result.Cores,
		Left: append([]workload.Count{}, w.Left...), Unknown: append([]workload.Count{}, w.Unknown...)}
	for _, v := range variants {
		r.Configurations = append(r.Configurations, configuration{v.name, v.Measures, v.users})
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
				out.Write(append(append([]string{v.name}, w.Row(j)...), at(f.First), at(f.Start), at(f.End), count(f.Starts), strconv.FormatInt(f.Lost, 10)))
			}
		}
	}
	out.Flush()
	return out.Error()
}
