package userprio

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/report/accounts"
)

// scenario is a recorded file with a table of all columns and users in it.
type scenario struct {
	After  string `json:"userprio_after"`
	AtEnd  string `json:"userprio_at_end"`
	Series []struct {
		Time      int64
		Customers map[string]map[string]any
	}
}

// reprint takes a recorded table apart, brings its rows into another order and
// prints it again. The figures are those of the records where the file has them,
// else those of the table.
func reprint(t *testing.T, file string, b []byte) {
	var s scenario
	if err := json.Unmarshal(b, &s); err != nil {
		return // another kind of file
	}
	text := cmp.Or(s.After, s.AtEnd)
	if text == "" {
		return
	}
	p := takeApart(t, text)
	if n := len(s.Series); n > 0 {
		exact(&p, s.Series[n-1].Time, s.Series[n-1].Customers)
	} else if strings.Contains(text, "Last Usage") {
		t.Logf("golden condor/%s: 0 of 0 agree: the table has times to the minute, and the file no records", file)
		return
	}
	slices.Reverse(p.Rows)
	slices.SortStableFunc(p.Rows, func(a, b accounts.Row) int { return cmp.Compare(b.Effective, a.Effective) })
	step := &goldenStep{Time: p.At.Unix(), Args: []string{"-all", "-allusers"}}
	// Rows of equal EUP stand in the order of a hash table.
	got := tieless(step.table(p))
	want := tieless(text)
	agree := 1
	if got != want {
		agree = 0
		t.Errorf("golden %s:\n%swant\n%s", file, got, want)
	}
	t.Logf("golden condor/%s: %d of 1 agree", file, agree)
}

// takeApart reads the rows of a table back from their cells.
func takeApart(t *testing.T, text string) accounts.View {
	t.Helper()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) < 6 {
		t.Fatalf("no table: %q", text)
	}
	var month, day, hour, minute int
	if _, err := fmt.Sscanf(lines[0], "Last Priority Update: %d/%d %d:%d", &month, &day, &hour, &minute); err != nil {
		t.Fatalf("%q: %v", lines[0], err)
	}
	p := accounts.View{At: time.Date(2026, time.Month(month), day, hour, minute, 0, 0, time.UTC)}
	places := dashes.FindAllStringIndex(lines[3], -1)
	in := accountant.RootGroup
	for _, line := range lines[4 : len(lines)-2] {
		cells := map[string]string{}
		for _, at := range places {
			cells[cut(lines[1], at)+" "+cut(lines[2], at)] = cut(line, at)
		}
		name := strings.TrimRight(line[:places[0][1]], " ")
		r := rowOfCells(t, cells)
		r.Name, r.Group = strings.TrimSpace(name), !strings.Contains(name, "@")
		switch {
		case r.Group:
			in = r.Name
			// What it was ordered by, its usage before the cycle, is not there.
			r.Part.SortKey = float64(len(p.Rows))
		case strings.HasPrefix(name, accounts.Indent) && in != accountant.RootGroup:
			r.Name = in + "." + r.Name
		}
		r.In = in
		p.Rows = append(p.Rows, r)
	}
	for _, word := range strings.Fields(lines[len(lines)-1]) {
		if word == "ByQuota" || word == "Regroup" || word == "no" {
			p.Policy = word
		}
	}
	return p
}

var dashes = regexp.MustCompile("-+")

func cut(line string, at []int) string {
	if at[0] >= len(line) {
		return ""
	}
	return strings.TrimSpace(line[at[0]:min(at[1], len(line))])
}

func rowOfCells(t *testing.T, cells map[string]string) accounts.Row {
	t.Helper()
	number := func(name string) float64 {
		if cells[name] == "" {
			return 0
		}
		x, err := strconv.ParseFloat(cells[name], 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return x
	}
	r := accounts.Row{
		Priority: number("Real Priority"), Effective: number("Effective Priority"), Factor: number("Priority Factor"),
		InUse: number("Wghted In Use"), Counted: cells["Wghted In Use"] != "", Usage: number("Total Usage (wghted-hrs)") * 3600,
		Floor: int64(number("Submitter Floor")), Ceiling: -1,
		Part: accounts.Part{
			Configured: true, Negotiated: true, Config: number("Config Quota"), Effective: number("Effective Quota"),
			Subtree: number("Subtree Quota"), Surplus: strings.ToLower(cells["Use Surplus"]), Requested: number("Weighted Requested"),
		},
	}
	if cells["Total Usage (wghted-hrs)"] == "-0.00" {
		r.Usage = -1
	}
	if cells["Submitter Ceiling"] != "" {
		r.Ceiling = int64(number("Submitter Ceiling"))
	}
	if r.Effective == 0 {
		r.Effective = r.Priority * r.Factor
	}
	return r
}

// exact replaces what the table rounded by what the records say.
func exact(v *accounts.View, at int64, records map[string]map[string]any) {
	v.At = time.Unix(at, 0).UTC()
	for i := range v.Rows {
		r := &v.Rows[i]
		for name, to := range map[string]*float64{"Priority": &r.Priority, "WeightedAccumulatedUsage": &r.Usage, "WeightedResourcesUsed": &r.InUse} {
			if x, ok := records[r.Name][name].(float64); ok {
				*to = x
			}
		}
		r.Effective = r.Priority * r.Factor
		for name, to := range map[string]*time.Time{"BeginUsageTime": &r.Begin, "LastUsageTime": &r.Last} {
			if x, ok := records[r.Name][name].(float64); ok && x > 0 {
				*to = time.Unix(int64(x), 0).UTC()
			}
		}
	}
}

// table prints a view with the step's arguments.
func (s *goldenStep) table(v accounts.View) string {
	return s.run(s.Args, func(c *cmdline.Call) error {
		o, err := optionsOf(c)
		if err != nil {
			return err
		}
		show, err := o.listed(c.Now)
		if err != nil {
			return err
		}
		return display(c, o, show, v)
	})
}

// tieless brings neighbouring users with the same EUP into the order of their
// names.
func tieless(table string) string {
	lines := strings.Split(table, "\n")
	if len(lines) < 4 {
		return table
	}
	column := strings.Index(lines[1], " Effective     Real")
	eup := func(line string) string {
		if column < 0 || len(line) < column+12 || !strings.Contains(line, "@") {
			return ""
		}
		return strings.TrimSpace(line[column-2 : column+11])
	}
	for i := 4; i < len(lines); {
		end := i + 1
		for end < len(lines) && eup(lines[i]) != "" && eup(lines[end]) == eup(lines[i]) {
			end++
		}
		slices.Sort(lines[i:end])
		i = end
	}
	return strings.Join(lines, "\n")
}
